import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { freePortRange, onFreePort } from './free-port.ts';
import { httpRequest } from './http.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { reach } from './tcp-connections.ts';
import { makeTempDir } from './temp-dir.ts';

/** A download tool that runs on loopback, with its peer search switched off. */
export interface DownloadTool {
  /** Where its interface is, without user and password. */
  readonly url: string;
  /** Empty for aria2. */
  readonly username: string;
  /** The secret of aria2. */
  readonly password: string;
  /** Where it puts what it fetched. */
  readonly downloadDir: string;
  /** Where it keeps what is not complete, if it was told to. */
  readonly unfinishedDir: string;
  /** Where other peers reach it, on loopback. */
  readonly peerPort: number;
  /** Ends it; safe to call twice. */
  stop(): Promise<void>;
}

/** One that can be killed, as a crash would, and comes back at the same place. */
interface RestartableTool extends DownloadTool {
  restart(): Promise<void>;
}

export interface TorrentClientOptions {
  /** What is not complete lies in a folder of its own, as in the common images of containers, and is moved when it is. */
  readonly keepsUnfinishedApart?: boolean;
}

/** Without it they would write names in ASCII. */
const UNICODE_NAMES = { LANG: 'C.UTF-8' } as const;

/** aria2 with its JSON-RPC interface and a secret. */
export async function startAria2(): Promise<RestartableTool | Missing> {
  const program = await ensureCommand('aria2c', 'aria2');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('aria2');
  const secret = randomBytes(12).toString('hex');
  const config = join(dir.path, 'aria2.conf');
  await mkdir(join(dir.path, 'downloads'));
  return onFreePort(async (port) => {
    const peerPort = await freePeerPort();
    const lines = [
      ...['enable-rpc=true', 'rpc-listen-all=false', `rpc-listen-port=${port}`, `rpc-secret=${secret}`],
      ...[`dir=${dir.path}/downloads`, 'enable-dht=false', 'enable-dht6=false', 'bt-enable-lpd=false', 'enable-peer-exchange=false'],
      ...['no-conf=false', 'quiet=true', 'file-allocation=none', `listen-port=${peerPort}`],
      // Those of its own lead nowhere: it is told of another one with each download.
      ...['http', 'https', 'ftp'].map((kind) => `${kind}-proxy=http://127.0.0.1:9`),
      // So it remembers logins for each server, and has one of its own for all.
      ...['http-auth-challenge=true', 'http-user=aria2', 'http-passwd=its-own'],
    ];
    await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 });
    await writeFile(join(dir.path, '.netrc'), 'machine 127.0.0.1 login aria2 password its-own\n', { mode: 0o600 });
    const url = `http://127.0.0.1:${port}`;
    const start = () =>
      startProcess({
        name: 'aria2c',
        command: program.path,
        args: [`--conf-path=${config}`],
        env: { PATH: process.env['PATH'], HOME: dir.path, ...UNICODE_NAMES },
        // Any answer: it serves.
        ready: { probe: async () => (await httpRequest(url, { path: '/jsonrpc', method: 'POST', body: '{}' })).status },
      });
    let running = await start();
    return {
      url: `${url}/jsonrpc`,
      username: '',
      password: secret,
      downloadDir: join(dir.path, 'downloads'),
      unfinishedDir: join(dir.path, 'unfinished'),
      peerPort,
      async restart() {
        await running.kill();
        running = await start();
      },
      async stop() {
        await running.stop();
        await dir.remove();
      },
    };
  });
}

/** Rounds and lengths that qBittorrent derives its password with (its `Utils::Password`). */
const PBKDF2 = { rounds: 100_000, saltBytes: 16, keyBytes: 64 } as const;

/** qBittorrent without a window, with a user and a password that its Web API also asks of loopback. */
export async function startQbittorrent({ keepsUnfinishedApart = false }: TorrentClientOptions = {}): Promise<DownloadTool | Missing> {
  const program = await ensureCommand('qbittorrent-nox', 'qbittorrent-nox');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('qbittorrent');
  const username = 'keeper';
  const password = randomBytes(12).toString('hex');
  const salt = randomBytes(PBKDF2.saltBytes);
  const key = pbkdf2Sync(password, salt, PBKDF2.rounds, PBKDF2.keyBytes, 'sha512');
  await mkdir(join(dir.path, 'qBittorrent', 'config'), { recursive: true });
  await mkdir(join(dir.path, 'downloads'));
  return onFreePort(async (port) => {
    const peerPort = await freePeerPort();
    const preferences = [
      ...['General\\Locale=en', 'Connection\\UPnP=false', 'WebUI\\Enabled=true', 'WebUI\\Address=127.0.0.1', `WebUI\\Port=${port}`],
      ...['WebUI\\UseUPnP=false', `WebUI\\Username=${username}`, 'WebUI\\LocalHostAuth=true', 'WebUI\\MaxAuthenticationFailCount=1000'],
      `WebUI\\Password_PBKDF2="@ByteArray(${salt.toString('base64')}:${key.toString('base64')})"`,
    ];
    const session = [
      ...[`Session\\Port=${peerPort}`, 'Session\\DHTEnabled=false', 'Session\\PeXEnabled=false', 'Session\\LSDEnabled=false'],
      ...['Session\\Interface=lo', 'Session\\InterfaceName=lo', 'Session\\InterfaceAddress=127.0.0.1'],
      ...[
        `Session\\DefaultSavePath=${dir.path}/downloads`,
        `Session\\TempPathEnabled=${keepsUnfinishedApart}`,
        'Session\\MultiConnectionsPerIp=true',
      ],
      ...[`Session\\TempPath=${dir.path}/unfinished`, `Session\\AddExtensionToIncompleteFiles=${keepsUnfinishedApart}`],
      // Web seeds of tests are on loopback, and so are all torrents at once.
      ...['Session\\SSRFMitigation=false', 'Session\\QueueingSystemEnabled=false'],
    ];
    const config = `[LegalNotice]\nAccepted=true\n\n[BitTorrent]\n${session.join('\n')}\n\n[Preferences]\n${preferences.join('\n')}\n`;
    await writeFile(join(dir.path, 'qBittorrent', 'config', 'qBittorrent.conf'), config);
    const url = `http://127.0.0.1:${port}/`;
    const running = await startProcess({
      name: 'qbittorrent-nox',
      command: program.path,
      args: [`--profile=${dir.path}`],
      env: { PATH: process.env['PATH'], HOME: dir.path, ...UNICODE_NAMES },
      ready: {
        async probe() {
          await reach(peerPort);
          return (await httpRequest(url, { path: '/api/v2/app/version' })).status;
        },
      },
    });
    return {
      url,
      username,
      password,
      downloadDir: join(dir.path, 'downloads'),
      unfinishedDir: join(dir.path, 'unfinished'),
      peerPort,
      async stop() {
        await running.stop();
        await dir.remove();
      },
    };
  });
}

/** transmission-daemon with a user and a password. */
export async function startTransmission({ keepsUnfinishedApart = false }: TorrentClientOptions = {}): Promise<RestartableTool | Missing> {
  const program = await ensureCommand('transmission-daemon', 'transmission-daemon');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('transmission');
  const username = 'keeper';
  const password = randomBytes(12).toString('hex');
  await mkdir(join(dir.path, 'downloads'));
  return onFreePort(async (port) => {
    const peerPort = await freePeerPort();
    const settings = {
      'rpc-enabled': true,
      'rpc-bind-address': '127.0.0.1',
      'rpc-port': port,
      'rpc-authentication-required': true,
      'rpc-username': username,
      'rpc-password': password,
      'rpc-whitelist-enabled': false,
      'bind-address-ipv4': '127.0.0.1',
      'peer-port': peerPort,
      'download-dir': join(dir.path, 'downloads'),
      'incomplete-dir': join(dir.path, 'unfinished'),
      'incomplete-dir-enabled': keepsUnfinishedApart,
      // Torrents of tests come all at once.
      'download-queue-enabled': false,
      'dht-enabled': false,
      'pex-enabled': false,
      'lpd-enabled': false,
      'utp-enabled': false,
      'port-forwarding-enabled': false,
      'anti-brute-force-enabled': false,
    };
    await writeFile(join(dir.path, 'settings.json'), JSON.stringify(settings));
    const url = `http://127.0.0.1:${port}`;
    const start = () =>
      startProcess({
        name: 'transmission-daemon',
        command: program.path,
        args: ['--foreground', '--config-dir', dir.path],
        env: { PATH: process.env['PATH'], HOME: dir.path, ...UNICODE_NAMES },
        ready: {
          async probe() {
            await reach(peerPort);
            return (await httpRequest(url, { path: '/transmission/rpc' })).status;
          },
        },
      });
    let running = await start();
    return {
      url: `${url}/transmission/rpc`,
      username,
      password,
      downloadDir: join(dir.path, 'downloads'),
      unfinishedDir: join(dir.path, 'unfinished'),
      peerPort,
      async restart() {
        await running.kill();
        running = await start();
      },
      async stop() {
        await running.stop();
        await dir.remove();
      },
    };
  });
}

/** A tool that cannot have its port for peers runs without one, and nobody reaches it: no client of this machine is given this one meanwhile. */
async function freePeerPort(): Promise<number> {
  const [port = 0] = await freePortRange(1);
  return port;
}
