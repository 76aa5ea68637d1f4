import {
  BucketAlreadyOwnedByYou,
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  type CephRgw,
  type FaultProxy,
  type FtpServer,
  type SambaServer,
  type SshServer,
  startFaultProxy,
  type WebdavServer,
} from '@wharf/harness';
import type { World } from './world.ts';

/** A storage on another server, mounted in the tree, with a way to its server that can be made bad. */
export interface RemoteStorage {
  readonly mount: string;
  readonly proxy: FaultProxy;
}

export interface RemoteStorages {
  readonly s3: RemoteStorage;
  readonly sftp: RemoteStorage;
  /** Keys in the bucket, and uploads in parts that have not ended. */
  inBucket(): Promise<{ keys: string[]; uploads: string[] }>;
  stop(): Promise<void>;
}

const BUCKET = 'pairs';

/** Where a storage is mounted. */
type Tree = Pick<World, 'admin' | 'unique'>;

/** Mounts a bucket and a folder of an SSH server. */
export async function mountRemotes(world: Tree, rgw: CephRgw, sshd: SshServer): Promise<RemoteStorages> {
  const sdk = new S3Client({
    endpoint: rgw.url,
    region: rgw.region,
    credentials: { accessKeyId: rgw.accessKeyId, secretAccessKey: rgw.secretAccessKey },
    forcePathStyle: true,
  });
  await sdk.send(new CreateBucketCommand({ Bucket: BUCKET })).catch((error: unknown) => {
    // Another Wharf of the same test uses the bucket too.
    if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
  });
  const s3Proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(rgw.url).port) } });
  const sftpProxy = await startFaultProxy({ to: { host: sshd.host, port: sshd.port } });
  const s3 = await mountThrough(
    world,
    'S3',
    s3Proxy,
    {
      root_folder_path: '/',
      bucket: BUCKET,
      endpoint: `http://${s3Proxy.host}:${s3Proxy.port}`,
      region: rgw.region,
      access_key_id: rgw.accessKeyId,
      secret_access_key: rgw.secretAccessKey,
      force_path_style: true,
    },
    { web_proxy: true },
  );
  const sftp = await mountThrough(world, 'SFTP', sftpProxy, {
    root_folder_path: sshd.rootPath,
    address: `${sftpProxy.host}:${sftpProxy.port}`,
    username: sshd.username,
    private_key: sshd.privateKey,
  });
  return {
    s3,
    sftp,
    async inBucket() {
      const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket: BUCKET }));
      const { Uploads = [] } = await sdk.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
      return { keys: Contents.map(({ Key = '' }) => Key), uploads: Uploads.map(({ Key = '' }) => Key) };
    },
    async stop() {
      sdk.destroy();
      await s3Proxy.stop();
      await sftpProxy.stop();
    },
  };
}

/** Mounts what the user of an FTP server sees, by TLS where it has that, with a way to it that can be made bad. */
export async function mountFtp(world: Tree, ftpd: FtpServer): Promise<RemoteStorage> {
  const proxy = await startFaultProxy({ to: ftpd, samePorts: ftpd.passivePorts });
  return mountThrough(world, 'FTP', proxy, {
    ...{
      address: `${proxy.host}:${proxy.port}`,
      encoding: 'utf-8',
      username: ftpd.username,
      password: ftpd.password,
      root_folder_path: '/',
    },
    // The way to it has another address than its certificate.
    ...{ encryption: ftpd.certificate === '' ? 'none' : 'explicit', tls_insecure_skip_verify: true },
  });
}

/** Mounts all that a WebDAV server has, with a way to it that can be made bad. */
export async function mountWebdav(world: Tree, dav: WebdavServer): Promise<RemoteStorage> {
  const proxy = await startFaultProxy({ to: dav });
  const address = dav.url.replace(`${dav.host}:${dav.port}`, `${proxy.host}:${proxy.port}`);
  const items = { address, vendor: 'other', username: dav.username, password: dav.password, root_folder_path: '/' };
  return mountThrough(world, 'WebDav', proxy, items);
}

/** Mounts the share of an SMB server, with a way to it that can be made bad. */
export async function mountSmb(world: Tree, samba: SambaServer): Promise<RemoteStorage> {
  const proxy = await startFaultProxy({ to: samba });
  return mountThrough(world, 'SMB', proxy, {
    ...{ root_folder_path: '.', address: `${proxy.host}:${proxy.port}` },
    ...{ username: samba.username, password: samba.password, share_name: samba.share },
  });
}

async function mountThrough(
  { admin, unique }: Tree,
  driver: string,
  proxy: FaultProxy,
  items: object,
  rest: object = {},
): Promise<RemoteStorage> {
  const mount = `/${unique(driver.toLowerCase())}`;
  const storage = { mount_path: mount, driver, addition: JSON.stringify(items), cache_expiration: 30, ...rest };
  await admin.call('/api/admin/storage/create', storage);
  return { mount, proxy };
}
