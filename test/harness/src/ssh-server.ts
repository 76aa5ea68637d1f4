import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeAccount, OWN_ACCOUNTS, UID, USERNAME } from './account.ts';
import { ensureCommand } from './debian-package.ts';
import { onFreePort } from './free-port.ts';
import { startConfined } from './namespace.ts';
import { runToEnd } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { countConnections } from './tcp-connections.ts';
import { makeTempDir } from './temp-dir.ts';

export interface SshServerOptions {
  /** Shut the user in, so that the folder above `rootPath` is all it sees; default false: it sees this machine's files. */
  chroot?: boolean;
  /** The only way to log in; default: both. */
  authentication?: 'password' | 'key';
  /** Requests of SFTP that it does not know, as sftp-server(8) calls them; default: it knows all. */
  without?: readonly string[];
}

/** OpenSSH's server with SFTP and nothing else, for one user that exists only inside of it. */
export interface SshServer {
  readonly host: string;
  /** The same after a restart. */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** ed25519, in OpenSSH's text form. */
  readonly privateKey: string;
  /** The same key, to be opened with `passphrase`. */
  readonly encryptedPrivateKey: string;
  readonly passphrase: string;
  /** An empty folder that the user may write to, as the server names it; where a session begins. */
  readonly rootPath: string;
  /** The same folder on this machine. */
  readonly folder: string;
  /** Owner of `folder`, user and group: for what is put there by the side door and is to be the user's. */
  readonly uid: number;
  /** `SHA256:...`, as ssh-keygen writes it. */
  hostKeyFingerprint(): string;
  /** Ends all connections; the server comes back on the same port with another host key. */
  changeHostKey(): Promise<void>;
  /** How many logins were decided since it was started or came back, let in or not. */
  logins(): number;
  /** How many connections it has now. */
  connections(): Promise<number>;
  /** Stops it where it is, sessions too; connections stay open and new ones wait. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends it and all connections; it comes back on the same port. */
  restart(): Promise<void>;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

/** Where the server sees the folders: no part of that path may be writable for others, or it shuts nobody in. */
const INSIDE = '/run/wharf';
const DATA = 'data';

/**
 * `$1` is the program, then its arguments; it runs in the server's own folder. The user is in copies of the account files that only this server
 * sees, and the folder that the program wants in /run is there for it alone.
 */
const SERVE = `
set -e
mount -t proc proc /proc
${OWN_ACCOUNTS}mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd ${INSIDE}
mount --bind files ${INSIDE}
exec "$@"
`;

/** Starts it on a free port of 127.0.0.1. Nothing of this machine changes but that the package is installed. Only root can. */
export async function startSshServer(options: SshServerOptions = {}): Promise<SshServer | Missing> {
  if (process.getuid?.() !== 0) return { missing: 'only root can start an sshd that lets another user in' };
  const program = await ensureCommand('sshd', 'openssh-server');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('ssh');
  const at = (name: string) => join(dir.path, name);
  const rootPath = options.chroot === true ? `/${DATA}` : `${INSIDE}/${DATA}`;
  const folder = join(at('files'), DATA);
  await mkdir(folder, { recursive: true });
  await chown(folder, UID, UID);
  // The user must reach the public key, and the folder also by its path on this machine.
  for (const path of [dir.path, at('files'), folder]) await chmod(path, 0o755);

  const password = await makeAccount(at, rootPath);
  const passphrase = randomBytes(12).toString('hex');
  const privateKey = await makeKey(at('user'));
  await runToEnd('ssh-keygen', ['-q', '-p', '-P', '', '-N', passphrase, '-f', at('user')]);
  const encryptedPrivateKey = await readFile(at('user'), 'utf8');
  const renewHostKey = async () => {
    await makeKey(at('host'));
    const [, blob = ''] = (await readFile(at('host.pub'), 'utf8')).split(' ');
    return `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '')}`;
  };
  let fingerprint = await renewHostKey();
  await writeFile(at('sshd_config'), configuration(at, options));

  const start = (port: number) =>
    startConfined({
      name: 'sshd',
      command: 'sh',
      // With -r it does not begin as a program anew for each connection, which is a quarter of what one costs.
      args: ['-c', SERVE, 'sh', program.path, '-D', '-r', '-e', '-f', at('sshd_config'), '-o', `ListenAddress=127.0.0.1:${port}`],
      cwd: dir.path,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      ready: { line: (line) => (line.startsWith('Server listening on ') ? port : undefined) },
    });
  let running = await onFreePort(start);
  const port = running.ready;
  const restart = async (between?: () => Promise<void>) => {
    await running.stop();
    await between?.();
    running = await start(port);
  };
  return {
    ...{ host: '127.0.0.1', port, username: USERNAME, password, privateKey, encryptedPrivateKey, passphrase },
    ...{ rootPath, folder, uid: UID },
    hostKeyFingerprint: () => fingerprint,
    changeHostKey: () =>
      restart(async () => {
        fingerprint = await renewHostKey();
      }),
    logins: () => running.output().match(/^(?:Accepted|Failed) (?:password|publickey) for /gm)?.length ?? 0,
    connections: () => countConnections(port),
    pause: () => running.pause(),
    resume: () => running.resume(),
    restart: () => restart(),
    async stop() {
      await running.stop();
      await dir.remove();
    },
  };
}

/** Makes a key pair at that path and `.pub`, in place of one that is there; answers the private one. */
async function makeKey(path: string): Promise<string> {
  for (const old of [path, `${path}.pub`]) await rm(old, { force: true });
  await runToEnd('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path]);
  return readFile(path, 'utf8');
}

function configuration(at: (name: string) => string, { chroot = false, authentication, without = [] }: SshServerOptions): string {
  const program = ['internal-sftp', ...(without.length > 0 ? ['-P', without.join(',')] : [])].join(' ');
  const allowed = (way: 'password' | 'key') => (authentication === undefined || authentication === way ? 'yes' : 'no');
  const lines = [
    `HostKey ${at('host')}`,
    `AuthorizedKeysFile ${at('user.pub')}`,
    `PasswordAuthentication ${allowed('password')}`,
    `PubkeyAuthentication ${allowed('key')}`,
    `AllowUsers ${USERNAME}`,
    ...['KbdInteractiveAuthentication no', 'UsePAM no', 'StrictModes no', 'PidFile none', 'UseDNS no'],
    // Tests log in and fail to by the hundred.
    ...['MaxStartups 1000', 'MaxSessions 1000', 'MaxAuthTries 20'],
    ...['DisableForwarding yes', 'PermitTTY no', `Subsystem sftp ${program}`, `ForceCommand ${program}`],
    ...(chroot ? [`ChrootDirectory ${INSIDE}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
