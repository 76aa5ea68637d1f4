import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { onFreePort } from './free-port.ts';
import { runCommand, startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { countConnections } from './tcp-connections.ts';
import { makeTempDir, type TempDir } from './temp-dir.ts';

/** A WebDAV server that is not ours, for one user. */
export interface WebdavServer {
  /** `http://127.0.0.1:<port>/<path>/`, or `https:`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** What it serves, as a folder of this machine. */
  readonly folder: string;
  /** How many connections it has now. */
  connections(): Promise<number>;
  /** Ends it and all connections; it comes back on the same port. */
  restart(): Promise<void>;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

export interface ApacheOptions {
  /** How users log in; default basic. */
  readonly login?: 'basic' | 'digest';
  /** Where its files are, from `/` on without one at the end; default `/dav`. */
  readonly path?: string;
  /** A key and its certificate, PEM: it speaks HTTPS. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

const USERNAME = 'keeper';
const PASSWORD = 'p:ass "wörd"';
const REALM = 'Files of Wharf';
/** Some are in the program of some builds: what is no file is not loaded. */
const MODULES =
  'mpm_event authn_core authn_file authz_core authz_user auth_basic auth_digest mime alias dir autoindex dav dav_fs dav_lock unixd socache_shmcb ssl';
const MODULE_FOLDER = '/usr/lib/apache2/modules';

/** Apache's mod_dav with a configuration of its own, beside whatever Apache the machine has. */
export async function startApacheDav(options: ApacheOptions = {}): Promise<WebdavServer | Missing> {
  const program = await ensureCommand('apache2', 'apache2');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('apache');
  const folder = join(dir.path, 'files');
  await mkdir(folder, { mode: 0o777 });
  await mkdir(join(dir.path, 'logs'));
  // Its workers are another user where it is started by root.
  await runCommand('chmod', ['-R', 'a+rwX', dir.path]);
  await writeAccount(dir, options.login ?? 'basic');
  for (const name of ['key', 'cert'] as const) if (options.tls) await writeFile(join(dir.path, name), options.tls[name]);
  const config = join(dir.path, 'apache.conf');
  return serve(dir, folder, { isTls: options.tls !== undefined, path: options.path ?? '/dav' }, async (port) => {
    await writeFile(config, await configOf(dir.path, port, options));
    return startProcess({
      name: 'apache2',
      command: program.path,
      args: ['-f', config, '-DFOREGROUND'],
      ready: { line: (line) => line.includes('resuming normal operations') || undefined },
    });
  });
}

/** `rclone serve webdav` of a folder. */
export const startRcloneDav = () => startRclone('webdav', '/dav', ['--baseurl', '/dav']);

/** `rclone serve sftp` of a folder, with keys of its own. */
export const startRcloneSftp = () => startRclone('sftp', '', []);

async function startRclone(protocol: 'webdav' | 'sftp', path: string, more: readonly string[]): Promise<WebdavServer | Missing> {
  const program = await ensureCommand('rclone', 'rclone');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('rclone');
  const folder = join(dir.path, 'files');
  await mkdir(folder);
  return serve(dir, folder, { isTls: false, path }, (port) =>
    startProcess({
      name: 'rclone',
      command: program.path,
      // What is put there by the side door is to be seen at once.
      args: ['serve', protocol, folder, '--addr', `127.0.0.1:${port}`, '--dir-cache-time', '0s', ...more],
      env: {
        ...process.env,
        HOME: dir.path,
        XDG_CACHE_HOME: dir.path,
        RCLONE_CONFIG: join(dir.path, 'rclone.conf'),
        RCLONE_USER: USERNAME,
        RCLONE_PASS: PASSWORD,
      },
      ready: { line: (line) => /server started|server listening/i.test(line) || undefined },
    }),
  );
}

async function serve(
  dir: TempDir,
  folder: string,
  { isTls, path }: { isTls: boolean; path: string },
  start: (port: number) => Promise<{ stop(): Promise<unknown> }>,
): Promise<WebdavServer> {
  try {
    const first = await onFreePort(async (free) => ({ running: await start(free), port: free }));
    const { port } = first;
    let { running } = first;
    return {
      url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}${path}/`,
      host: '127.0.0.1',
      port,
      username: USERNAME,
      password: PASSWORD,
      folder,
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
  } catch (error) {
    await dir.remove();
    throw error;
  }
}

async function writeAccount(dir: TempDir, login: 'basic' | 'digest'): Promise<void> {
  const [hash = ''] = (
    await runCommand('perl', ['-e', 'use Digest::MD5 "md5_hex"; print md5_hex(join(":", @ARGV))', USERNAME, REALM, PASSWORD])
  ).stdout.split('\n');
  const crypted = (await runCommand('perl', ['-e', 'print crypt($ARGV[0], q($6$saltsalt$))', PASSWORD])).stdout;
  await writeFile(join(dir.path, 'users'), login === 'basic' ? `${USERNAME}:${crypted}\n` : `${USERNAME}:${REALM}:${hash}\n`);
}

async function configOf(dir: string, port: number, { login = 'basic', path = '/dav', tls }: ApacheOptions): Promise<string> {
  const modules = await Promise.all(
    MODULES.split(' ').map(async (name) => {
      const file = `${MODULE_FOLDER}/mod_${name}.so`;
      const isThere = await readFile(file).then(
        () => true,
        () => false,
      );
      return isThere ? `LoadModule ${name}_module ${file}` : '';
    }),
  );
  return `${modules.join('\n')}
ServerRoot ${dir}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${dir}/apache.pid
ErrorLog "||/bin/cat"
LogLevel notice
User www-data
Group www-data
TypesConfig /dev/null
# Connections that a client leaves are to be seen to end.
KeepAliveTimeout 60
MaxKeepAliveRequests 0
LimitRequestLine 16380
LimitRequestFieldSize 16380
DavLockDB ${dir}/logs/locks
DocumentRoot ${dir}/logs
${tls ? `SSLEngine on\nSSLCertificateFile ${dir}/cert\nSSLCertificateKeyFile ${dir}/key\nSSLSessionCache none` : ''}
Alias ${path} ${dir}/files
<Directory ${dir}/files>
  Dav On
  Options Indexes
  AuthType ${login === 'basic' ? 'Basic' : 'Digest'}
  AuthName "${REALM}"
  ${login === 'basic' ? 'AuthBasicProvider' : 'AuthDigestProvider'} file
  AuthUserFile ${dir}/users
  Require valid-user
</Directory>
`;
}
