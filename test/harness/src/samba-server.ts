import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { makeAccount, OWN_ACCOUNTS, UID, USERNAME } from './account.ts';
import { ensureCommand } from './debian-package.ts';
import { onFreePort } from './free-port.ts';
import { startConfined } from './namespace.ts';
import { isMissing, type Missing } from './required.ts';
import { countConnections } from './tcp-connections.ts';
import { makeTempDir } from './temp-dir.ts';

export interface SambaOptions {
  /** Whether it tells `A` from `a`; default: it does not, as Windows. */
  readonly isCaseSensitive?: boolean;
  /** Whether each long name has a short one (8.3) besides, which no listing of ours shows; default: not so. Samba does it as it comes. */
  readonly hasShortNames?: boolean;
}

/** Samba's smbd for one user that exists only inside of it, with one share. */
export interface SambaServer {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly share: string;
  /** What the share shows, on this machine. */
  readonly folder: string;
  /** Owner of `folder`, user and group: for what is put there by the side door and is to be the user's. */
  readonly uid: number;
  /** How many connections it has now. */
  connections(): Promise<number>;
  /** Ends it and all connections; it comes back on the same port. */
  restart(): Promise<void>;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const SHARE = 'files';

/** `$1` is the password of the user, on its way to Samba's own list. */
const SERVE = `
set -e
mount -t proc proc /proc
${OWN_ACCOUNTS}printf '%s\\n%s\\n' "$(cat password)" "$(cat password)" | smbpasswd -c "$PWD/conf" -a -s ${USERNAME} >/dev/null
exec "$1" --foreground --no-process-group --configfile="$PWD/conf"
`;

/** Starts it on a free port of 127.0.0.1. Only root can. */
export async function startSamba({ isCaseSensitive = false, hasShortNames = false }: SambaOptions = {}): Promise<SambaServer | Missing> {
  if (process.getuid?.() !== 0) return { missing: 'only root can start a smbd that lets another user in' };
  const program = await ensureCommand('smbd', 'samba');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('samba');
  const at = (name: string) => join(dir.path, name);
  const folder = at('files');
  await mkdir(folder);
  await chown(folder, UID, UID);
  await mkdir(at('state'));
  for (const path of [dir.path, folder]) await chmod(path, 0o755);
  const password = await makeAccount(at, folder);
  await writeFile(at('password'), password, { mode: 0o600 });
  const start = async (free: number) => {
    await writeFile(at('conf'), configOf(at, free, { isCaseSensitive, hasShortNames }));
    return startConfined({
      name: 'smbd',
      command: 'sh',
      args: ['-c', SERVE, 'sh', program.path],
      cwd: dir.path,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      ready: { probe: () => answers(free).then(() => free) },
    });
  };
  let running = await onFreePort(start);
  const port = running.ready;
  return {
    ...{ host: HOST, port, username: USERNAME, password, share: SHARE, folder, uid: UID },
    connections: () => countConnections(port),
    async restart() {
      await running.stop();
      running = await start(port);
    },
    async stop() {
      await running.stop();
      await dir.remove();
    },
  };
}

/** smb.conf(5). */
function configOf(at: (name: string) => string, port: number, { isCaseSensitive, hasShortNames }: Required<SambaOptions>): string {
  const folders = ['private dir', 'lock directory', 'state directory', 'cache directory', 'pid directory', 'ncalrpc dir'];
  return `[global]
server role = standalone server
smb ports = ${port}
interfaces = ${HOST}/8
bind interfaces only = yes
disable netbios = yes
disable spoolss = yes
load printers = no
printing = bsd
printcap name = /dev/null
${folders.map((name) => `${name} = ${at('state')}`).join('\n')}
passdb backend = tdbsam:${at('state')}/passdb.tdb
log file = ${at('log')}
server min protocol = SMB2
dns proxy = no
[${SHARE}]
path = ${at('files')}
read only = no
hide dot files = no
mangled names = ${hasShortNames ? 'illegal' : 'no'}
map archive = no
store dos attributes = no
case sensitive = ${isCaseSensitive ? 'yes' : 'auto'}
`;
}

async function answers(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(port, HOST).once('connect', resolve).once('error', reject);
  await promise.finally(() => socket.destroy());
}
