import { readdir } from 'node:fs/promises';
import {
  type CephRgw,
  ensureCommand,
  type FaultProxy,
  type FtpServer,
  isAvailable,
  isMissing,
  type SambaServer,
  type SshServer,
  startApacheDav,
  startCephRgw,
  startFtpServer,
  startSamba,
  startSshServer,
  type WebdavServer,
} from '@wharf/harness';
import { mountFtp, mountRemotes, mountSmb, mountWebdav } from './remote-storages.ts';
import type { World } from './world.ts';

export const KINDS = ['Local', 'S3', 'SFTP', 'WebDav', 'FTP', 'SMB', 'Crypt'] as const;
export type Kind = (typeof KINDS)[number];

/** Where a kind of storage is in the tree. */
export interface Place {
  /** A folder of it that nobody else uses. */
  readonly folder: string;
  /** The way to its server. Local has none. */
  readonly way?: FaultProxy;
  /** Ends its server; it comes back with all it had. Absent: it has none, or one that would forget. */
  readonly restart?: () => Promise<void>;
}

/** Real servers for each kind. */
export interface Servers {
  readonly rgw: CephRgw;
  readonly sshd: SshServer;
  readonly apache: WebdavServer;
  readonly ftpd: FtpServer;
  readonly samba: SambaServer;
}

/** Undefined where one is missing. @param bucket what is told to the server of the bucket */
export async function startServers(bucket: Parameters<typeof startCephRgw>[0] = {}): Promise<Servers | undefined> {
  const [rgw, sshd, apache, ftpd, samba, rclone] = await Promise.all([
    startCephRgw(bucket),
    startSshServer(),
    startApacheDav(),
    startFtpServer({ software: 'vsftpd', tls: 'explicit' }),
    startSamba({ isCaseSensitive: true }),
    ensureCommand('rclone', 'rclone'),
  ]);
  const found = { 'ceph-rgw': rgw, sshd, apache2: apache, vsftpd: ftpd, samba, rclone };
  const areThere = Object.entries(found).map(([name, server]) => isAvailable(name, server));
  if (!areThere.includes(false) && !isMissing(rgw) && !isMissing(sshd) && !isMissing(apache) && !isMissing(ftpd) && !isMissing(samba))
    return { rgw, sshd, apache, ftpd, samba };
  for (const server of Object.values(found)) if (!isMissing(server) && 'stop' in server) await server.stop();
  return undefined;
}

/** Mounts a storage of each kind. Crypt stands on the bucket. */
export async function mountEvery(world: World, { rgw, sshd, apache, ftpd, samba }: Servers) {
  const remotes = await mountRemotes(world, rgw, sshd);
  const ftp = await mountFtp(world, ftpd);
  const webdav = await mountWebdav(world, apache);
  const smb = await mountSmb(world, samba);
  const { path: local } = await world.folder('every');
  await world.admin.call('/api/fs/mkdir', { path: `${remotes.s3.mount}/encrypted` });
  const crypt = `/${world.unique('crypt')}`;
  const addition = JSON.stringify({
    ...{ filename_encryption: 'standard', directory_name_encryption: 'true', filename_encoding: 'base32', encrypted_suffix: '.bin' },
    ...{ remote_path: `${remotes.s3.mount}/encrypted`, password: 'first', salt: 'second', show_hidden: true },
  });
  await world.admin.call('/api/admin/storage/create', { mount_path: crypt, driver: 'Crypt', addition, cache_expiration: 30 });
  const places: Readonly<Record<Kind, Place>> = {
    Local: { folder: local },
    S3: { folder: `${remotes.s3.mount}/plain`, way: remotes.s3.proxy },
    SFTP: { folder: `${remotes.sftp.mount}/pairs`, way: remotes.sftp.proxy, restart: () => sshd.restart() },
    WebDav: { folder: `${webdav.mount}/pairs`, way: webdav.proxy, restart: () => apache.restart() },
    FTP: { folder: `${ftp.mount}/pairs`, way: ftp.proxy, restart: () => ftpd.restart() },
    SMB: { folder: `${smb.mount}/pairs`, way: smb.proxy, restart: () => samba.restart() },
    Crypt: { folder: `${crypt}/pairs`, way: remotes.s3.proxy },
  };
  return {
    places,
    /** What our half-done work has left on the servers. */
    async leftovers(): Promise<string[]> {
      const { keys, uploads } = await remotes.inBucket();
      const folders = [world.wharf.filesDir, sshd.folder, apache.folder, ftpd.folder, samba.folder];
      const names = (await Promise.all(folders.map((folder) => readdir(folder, { recursive: true })))).flat();
      return [...uploads, ...[...names, ...keys].filter((name) => name.includes('.wharf-tmp') || name.includes('draft-'))];
    },
    async stop(): Promise<void> {
      await remotes.stop();
      for (const { proxy } of [ftp, webdav, smb]) await proxy.stop();
      for (const server of [rgw, sshd, apache, ftpd, samba]) await server.stop();
    },
  };
}
