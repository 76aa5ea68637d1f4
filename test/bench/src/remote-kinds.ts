import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import {
  type FaultProxy,
  isMissing,
  type Missing,
  makeTempDir,
  startApacheDav,
  startCephRgw,
  startFaultProxy,
  startFtpServer,
  startSamba,
  startSshServer,
} from '@wharf/harness';

/** A storage on another server, as Wharf and as rclone are told of it. Both go by the same proxy. */
export interface RemoteKind {
  /** Its driver. */
  readonly name: RemoteName;
  /** What stands behind it, for people. */
  readonly server: string;
  readonly proxy: FaultProxy;
  readonly addition: Readonly<Record<string, unknown>>;
  /** Variables by which rclone knows it as `remote:`, and the folder there. Without rclone they say less. */
  readonly rcloneEnv: Readonly<Record<string, string>>;
  readonly rclonePath: string;
  /** Its root on this machine, by which many files are there at once; absent where there is none. */
  readonly folder?: string;
  /** What it stands on, which is mounted before it. */
  readonly below?: RemoteKind;
  stop(): Promise<void>;
}

export const REMOTE_NAMES = ['S3', 'SFTP', 'WebDav', 'FTP', 'SMB', 'Crypt', 'Rclone'] as const;
export type RemoteName = (typeof REMOTE_NAMES)[number];

/** What starting a kind may need. */
export interface KindNeeds {
  /** What a bucket has to take. */
  readonly storedBytes: number;
  /** A password as rclone wants it. */
  readonly obscured: (password: string) => Promise<string>;
}

type Starter = (needs: KindNeeds) => Promise<RemoteKind | Missing>;

const BUCKET = 'bench';

/** Where a kind is mounted. */
export function mountOf(name: RemoteName): string {
  return `/bench-${name.toLowerCase()}`;
}

/** Starts the server of each kind. */
export const STARTERS: Readonly<Record<RemoteName, Starter>> = {
  S3: startS3,
  SFTP: startSftp,
  WebDav: (needs) => startDav('WebDav', needs),
  FTP: startFtp,
  SMB: startSmb,
  async Crypt(needs) {
    const below = await startS3(needs);
    if (isMissing(below)) return below;
    const names = { filename_encryption: 'standard', filename_encoding: 'base32' };
    const [password, salt] = ['a password', 'a second one'];
    return {
      ...below,
      name: 'Crypt',
      server: `${below.server}, by S3`,
      below,
      addition: {
        ...{ ...names, directory_name_encryption: 'true', encrypted_suffix: '.bin', show_hidden: true },
        ...{ remote_path: mountOf('S3'), password, salt },
      },
      rcloneEnv: {
        ...below.rcloneEnv,
        RCLONE_CONFIG_HIDDEN_TYPE: 'crypt',
        RCLONE_CONFIG_HIDDEN_REMOTE: below.rclonePath,
        RCLONE_CONFIG_HIDDEN_PASSWORD: await needs.obscured(password),
        RCLONE_CONFIG_HIDDEN_PASSWORD2: await needs.obscured(salt),
      },
      rclonePath: 'hidden:',
    };
  },
  Rclone: (needs) => startDav('Rclone', needs),
};

async function startS3({ storedBytes }: KindNeeds): Promise<RemoteKind | Missing> {
  const rgw = await startCephRgw({ sizeBytes: storedBytes });
  if (isMissing(rgw)) return rgw;
  const keys = { access_key_id: rgw.accessKeyId, secret_access_key: rgw.secretAccessKey };
  const credentials = { accessKeyId: rgw.accessKeyId, secretAccessKey: rgw.secretAccessKey };
  const sdk = new S3Client({ endpoint: rgw.url, region: rgw.region, credentials, forcePathStyle: true });
  await sdk.send(new CreateBucketCommand({ Bucket: BUCKET }));
  sdk.destroy();
  const proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(rgw.url).port) } });
  const endpoint = `http://${proxy.host}:${proxy.port}`;
  return {
    ...{ name: 'S3', server: 'Ceph RGW', proxy, stop: stopBoth(proxy, rgw) },
    addition: { root_folder_path: '/', bucket: BUCKET, endpoint, region: rgw.region, force_path_style: true, ...keys },
    rcloneEnv: remote({
      ...{ TYPE: 's3', PROVIDER: 'Ceph', ENDPOINT: endpoint, REGION: rgw.region },
      ...{ ACCESS_KEY_ID: rgw.accessKeyId, SECRET_ACCESS_KEY: rgw.secretAccessKey },
    }),
    rclonePath: `remote:${BUCKET}`,
  };
}

async function startSftp(): Promise<RemoteKind | Missing> {
  const sshd = await startSshServer();
  if (isMissing(sshd)) return sshd;
  const proxy = await startFaultProxy({ to: { host: sshd.host, port: sshd.port } });
  const dir = await makeTempDir('bench-remote');
  const keyFile = join(dir.path, 'key');
  await writeFile(keyFile, sshd.privateKey);
  await chmod(keyFile, 0o600);
  return {
    ...{ name: 'SFTP', server: 'OpenSSH', proxy, folder: sshd.folder, stop: stopBoth(proxy, sshd, { stop: () => dir.remove() }) },
    addition: {
      ...{ root_folder_path: sshd.rootPath, address: `${proxy.host}:${proxy.port}` },
      ...{ username: sshd.username, private_key: sshd.privateKey },
    },
    rcloneEnv: remote({
      ...{ TYPE: 'sftp', HOST: proxy.host, PORT: String(proxy.port), USER: sshd.username, KEY_FILE: keyFile },
      ...{ DISABLE_HASHCHECK: 'true', SHELL_TYPE: 'none' },
    }),
    rclonePath: `remote:${sshd.rootPath}`,
  };
}

/** The driver WebDav, or Rclone with its type of that name. */
async function startDav(name: 'WebDav' | 'Rclone', { obscured }: KindNeeds): Promise<RemoteKind | Missing> {
  const apache = await startApacheDav();
  if (isMissing(apache)) return apache;
  const proxy = await startFaultProxy({ to: apache });
  const url = apache.url.replace(`${apache.host}:${apache.port}`, `${proxy.host}:${proxy.port}`);
  const { username, password } = apache;
  const additions = {
    WebDav: { vendor: 'other', address: url, username, password, root_folder_path: '/' },
    Rclone: {
      ...{ type: 'webdav', options: `url = ${url}\nvendor = other\nuser = ${username}`, secrets: `pass = ${password}` },
      root_folder_path: '/',
    },
  };
  return {
    ...{ name, server: name === 'Rclone' ? 'Apache mod_dav, by the type webdav' : 'Apache mod_dav' },
    ...{ proxy, folder: apache.folder, stop: stopBoth(proxy, apache) },
    addition: additions[name],
    rcloneEnv: remote({ TYPE: 'webdav', URL: url, VENDOR: 'other', USER: username, PASS: await obscured(password) }),
    rclonePath: 'remote:',
  };
}

async function startFtp({ obscured }: KindNeeds): Promise<RemoteKind | Missing> {
  const ftpd = await startFtpServer({ software: 'vsftpd' });
  if (isMissing(ftpd)) return ftpd;
  const proxy = await startFaultProxy({ to: ftpd, samePorts: ftpd.passivePorts });
  const address = { HOST: proxy.host, PORT: String(proxy.port) };
  return {
    ...{ name: 'FTP', server: 'vsftpd, without TLS', proxy, folder: ftpd.folder, stop: stopBoth(proxy, ftpd) },
    addition: {
      ...{ address: `${proxy.host}:${proxy.port}`, encoding: 'utf-8', encryption: 'none' },
      ...{ username: ftpd.username, password: ftpd.password, root_folder_path: '/' },
    },
    // It takes the addresses that a server names, which here is not where the proxy is; that of EPSV is the one it came to.
    rcloneEnv: remote({ TYPE: 'ftp', ...address, USER: ftpd.username, PASS: await obscured(ftpd.password) }),
    rclonePath: 'remote:',
  };
}

async function startSmb({ obscured }: KindNeeds): Promise<RemoteKind | Missing> {
  const samba = await startSamba();
  if (isMissing(samba)) return samba;
  const proxy = await startFaultProxy({ to: samba });
  const address = { HOST: proxy.host, PORT: String(proxy.port) };
  return {
    ...{ name: 'SMB', server: 'Samba, which does not tell A from a', proxy, folder: samba.folder, stop: stopBoth(proxy, samba) },
    addition: {
      ...{ root_folder_path: '.', address: `${proxy.host}:${proxy.port}` },
      ...{ username: samba.username, password: samba.password, share_name: samba.share },
    },
    rcloneEnv: remote({ TYPE: 'smb', ...address, USER: samba.username, PASS: await obscured(samba.password) }),
    rclonePath: `remote:${samba.share}`,
  };
}

/** Variables of rclone's `remote:`. */
function remote(options: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [`RCLONE_CONFIG_REMOTE_${name}`, value]));
}

function stopBoth(...parts: readonly { stop(): Promise<unknown> }[]): () => Promise<void> {
  return async () => {
    for (const part of parts) await part.stop();
  };
}
