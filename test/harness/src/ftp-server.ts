import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeAccount, OWN_ACCOUNTS, UID, USERNAME } from './account.ts';
import { type Certificate, makeCertificate } from './certificate.ts';
import { ensureCommand, ensureUnpacked } from './debian-package.ts';
import { freePortRange, onFreePort } from './free-port.ts';
import { startConfined } from './namespace.ts';
import { isMissing, type Missing } from './required.ts';
import { countConnections, reach } from './tcp-connections.ts';
import { makeTempDir } from './temp-dir.ts';

export interface FtpServerOptions {
  readonly software: 'vsftpd' | 'proftpd';
  /** Required for all connections, with a certificate of its own for 127.0.0.1; default: none. */
  readonly tls?: 'explicit' | 'implicit';
  /** With `tls`: shows this one in place of its own. */
  readonly certificate?: Certificate;
}

/** An FTP server for one user that exists only inside of it and sees nothing but its folder. */
export interface FtpServer {
  readonly host: string;
  /** The same after a restart. */
  readonly port: number;
  /** Where it waits for data. */
  readonly passivePorts: readonly number[];
  readonly username: string;
  readonly password: string;
  /** PEM; empty without TLS. */
  readonly certificate: string;
  /** What the user sees as `/`, on this machine. */
  readonly folder: string;
  /** Owner of `folder`, user and group: for what is put there by the side door and is to be the user's. */
  readonly uid: number;
  /** What its clients have said until now, with TLS: a log of its own form, without passwords. */
  commands(): Promise<string>;
  /** How many connections for commands it has now. */
  connections(): Promise<number>;
  /** How many connections for data it has now. */
  transfers(): Promise<number>;
  /** Stops it where it is, sessions too; connections stay open and new ones wait. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends it and all connections; it comes back on the same port. */
  restart(): Promise<void>;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const PASSIVE_PORTS = 100;
const INSIDE = '/run/wharf';

/**
 * `$1` is the program, then its arguments; it runs in the server's own folder. Accounts and how they are proved are copies that only this server
 * sees. The shell stays: vsftpd ends when it is told of the end of a process that is not its own, as the first of a namespace is.
 */
const SERVE = `
set -e
mount -t proc proc /proc
${OWN_ACCOUNTS}mount --bind pam.d /etc/pam.d
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/empty ${INSIDE}
mount --bind files ${INSIDE}
"$@"
exit $?
`;

interface Place {
  readonly port: number;
  readonly passivePorts: readonly number[];
  readonly at: (name: string) => string;
  readonly tls: FtpServerOptions['tls'];
}

/** Starts it on free ports of 127.0.0.1. Only root can. */
export async function startFtpServer({ software, tls, certificate: given }: FtpServerOptions): Promise<FtpServer | Missing> {
  if (process.getuid?.() !== 0) return { missing: `only root can start a ${software} that lets another user in` };
  const program = await (software === 'vsftpd'
    ? findVsftpd()
    : ensureCommand('proftpd', 'proftpd-mod-crypto', process.env, '/usr/lib/proftpd/mod_tls.so'));
  if (isMissing(program)) return program;
  const certificate = tls === undefined ? { key: '', cert: '' } : (given ?? (await makeCertificate(HOST)));
  if (isMissing(certificate)) return certificate;
  const dir = await makeTempDir('ftp');
  const at = (name: string) => join(dir.path, name);
  const folder = at('files');
  await mkdir(folder);
  await chown(folder, UID, UID);
  for (const path of [dir.path, folder]) await chmod(path, 0o755);
  const password = await makeAccount(at, INSIDE);
  await mkdir(at('pam.d'));
  await writeFile(at('pam.d/wharf'), 'auth required pam_unix.so\naccount required pam_unix.so\n');
  await writeFile(at('key'), certificate.key, { mode: 0o600 });
  await writeFile(at('cert'), certificate.cert);

  const passivePorts = await freePortRange(PASSIVE_PORTS);
  const start = async (port: number) => {
    const lines = (software === 'vsftpd' ? vsftpdLines : proftpdLines)({ port, passivePorts, at, tls });
    await writeFile(at('conf'), `${lines.join('\n')}\n`);
    return startConfined({
      name: software,
      command: 'sh',
      args: ['-c', SERVE, 'sh', program.path, ...(software === 'vsftpd' ? [at('conf')] : ['-n', '-c', at('conf')])],
      cwd: dir.path,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      ready: { probe: () => reach(port).then(() => port) },
    });
  };
  let running = await onFreePort(start);
  const port = running.ready;
  return {
    ...{ host: HOST, port, passivePorts, username: USERNAME, password, certificate: certificate.cert, folder, uid: UID },
    commands: () => readFile(at('commands'), 'utf8').catch(() => ''),
    connections: () => countConnections(port),
    transfers: () => countConnections(...passivePorts),
    pause: () => running.pause(),
    resume: () => running.resume(),
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

/** Debian lets only one FTP server be installed: the other one is unpacked beside it. */
async function findVsftpd(): Promise<{ path: string } | Missing> {
  const unpacked = await ensureUnpacked('vsftpd', ['libwrap0', 'libcap2', 'libssl3']);
  return isMissing(unpacked) ? unpacked : { path: join(unpacked.path, 'usr/sbin/vsftpd') };
}

/** vsftpd.conf(5). */
function vsftpdLines({ port, passivePorts, at, tls }: Place): string[] {
  return [
    ...['listen=YES', 'background=NO', `listen_address=${HOST}`, `listen_port=${port}`],
    ...['anonymous_enable=NO', 'local_enable=YES', 'write_enable=YES', 'local_umask=022', 'pam_service_name=wharf'],
    ...['chroot_local_user=YES', 'allow_writeable_chroot=YES', `local_root=${INSIDE}`, 'secure_chroot_dir=/run/empty'],
    ...['seccomp_sandbox=NO', 'max_clients=0', 'max_per_ip=0', 'delay_failed_login=0'],
    ...[`pasv_min_port=${passivePorts[0]}`, `pasv_max_port=${passivePorts.at(-1)}`],
    ...(tls === undefined
      ? []
      : [
          'ssl_enable=YES',
          'force_local_data_ssl=YES',
          'force_local_logins_ssl=YES',
          `rsa_cert_file=${at('cert')}`,
          `rsa_private_key_file=${at('key')}`,
          ...['xferlog_enable=YES', 'xferlog_std_format=NO', 'log_ftp_protocol=YES', `vsftpd_log_file=${at('commands')}`],
        ]),
    ...(tls === 'implicit' ? ['implicit_ssl=YES'] : []),
  ];
}

function proftpdLines({ port, passivePorts, at, tls }: Place): string[] {
  return [
    ...['ServerType standalone', `Port ${port}`, `DefaultAddress ${HOST}`, 'UseIPv6 off', 'SocketBindTight on'],
    ...['UseReverseDNS off', 'DelayEngine off', 'WtmpLog off', 'TransferLog none', 'MaxInstances none', 'AllowLogSymlinks on'],
    ...[`PidFile ${at('pid')}`, `ScoreboardFile none`, 'User nobody', 'Group nogroup', 'RequireValidShell off'],
    ...['AuthOrder mod_auth_unix.c', 'DefaultRoot ~', 'PersistentPasswd off', 'MaxLoginAttempts 100'],
    `PassivePorts ${passivePorts[0]} ${passivePorts.at(-1)}`,
    ...(tls === undefined
      ? []
      : [
          'ModulePath /usr/lib/proftpd',
          'LoadModule mod_tls.c',
          'TLSEngine on',
          'TLSRequired on',
          `TLSRSACertificateFile ${at('cert')}`,
          `TLSRSACertificateKeyFile ${at('key')}`,
          `ExtendedLog ${at('commands')} ALL`,
        ]),
    ...(tls === 'implicit' ? ['TLSOptions UseImplicitSSL'] : []),
  ];
}
