import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import {
  ensureCommand,
  isAvailable,
  isMissing,
  startApacheDav,
  startCephRgw,
  startFaultProxy,
  startFtpServer,
  startSshServer,
} from '@wharf/harness';
import { afterAll, describe, onTestFinished } from 'vitest';
import { folderSide } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { makeBucket } from '../s3/testing/bucket.ts';
import { RcloneClient } from './client.ts';
import { RcloneDriver } from './driver.ts';
import { rcloneDriver } from './index.ts';
import { rcd } from './rcd.ts';
import { webWay } from './ways.ts';

const WITHOUT: readonly OptionalOperation[] = ['findOnHost', 'link', 'listAll', 'listNames', 'openDraft', 'statMany'];
/** Where the whole suite runs on one type already: what differs by the server. `npm run soak -- suites` runs all of it. */
const IS_LONG = process.env['WHARF_LONG_SUITES'] !== undefined;
const SOME = IS_LONG ? {} : { groups: ['entries', 'content', 'cancellation and failure', 'abilities'] };
/** Listings of 10,000 take a minute to make there. */
const FEW = IS_LONG
  ? {}
  : { groups: ['content', 'names', 'making and removing', 'copy', 'cancellation and failure', 'two at once', 'abilities'] };
const program = await ensureCommand('rclone', 'rclone');
const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

function opened(type: string, options: Record<string, string>, secrets: Record<string, string>, root: string): Promise<StorageDriver> {
  const lines = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `${name} = ${value}`)
      .join('\n');
  const items = { type, options: lines(options), secrets: lines(secrets), root_folder_path: root };
  return rcloneDriver.open(JSON.stringify(items), { egress });
}

describe.runIf(isAvailable('rclone', program))('Rclone', async () => {
  const webdav = await startApacheDav();
  describe.runIf(isAvailable('webdav', webdav))('on apache', () => {
    if (isMissing(webdav)) return;
    afterAll(() => webdav.stop());
    // rclone sends contents of unknown size to some vendors only; the others must be told the size, which is done around the driver.
    const openAs = (vendor: string, around: (driver: StorageDriver) => StorageDriver) => async (): Promise<StorageUnderTest> => {
      const folder = await madeFolder(webdav.folder);
      const openAt = async ({ host, port }: { host: string; port: number }) => {
        const url = webdav.url.replace(`${webdav.host}:${webdav.port}`, `${host}:${port}`);
        return around(await opened('webdav', { url, vendor, user: webdav.username }, { pass: webdav.password }, path.basename(folder)));
      };
      return { driver: await openAt(webdav), ...folderSide(folder) };
    };
    const lacks = [...WITHOUT, 'space'] as const;
    const open = openAs('other', (driver) => decorate(driver, rcloneDriver.limits));
    // Of connections for HTTP, which are rclone's own, idle ones stay for a minute: the rules about faults wait for their end.
    describeDriver({ name: 'webdav with everything around it', lacks, open });
    const raw = openAs('owncloud', (driver) => driver);
    describeDriver({ name: 'webdav', lacks, ...SOME, open: raw });
  });

  const ssh = await startSshServer();
  describe.runIf(isAvailable('sshd', ssh))('on sshd', () => {
    if (isMissing(ssh)) return;
    afterAll(() => ssh.stop());
    describeDriver({
      name: 'sftp',
      lacks: [...WITHOUT, 'copy'],
      ...SOME,
      isRemote: true,
      async open() {
        const folder = await madeFolder(ssh.folder, ssh.uid);
        // Of rclone a path begins where a session begins.
        const root = path.basename(folder);
        const openAt = ({ host, port }: { host: string; port: number }) =>
          opened('sftp', { host, port: String(port), user: ssh.username }, { pass: ssh.password }, root);
        return { driver: await openAt(ssh), ...folderSide(folder), throughFaults: () => faulty(ssh, openAt) };
      },
    });
  });

  const ftp = await startFtpServer({ software: 'vsftpd' });
  describe.runIf(isAvailable('vsftpd', ftp))('on vsftpd', () => {
    if (isMissing(ftp)) return;
    afterAll(() => ftp.stop());
    describeDriver({
      name: 'ftp',
      lacks: [...WITHOUT, 'copy', 'space'],
      ...SOME,
      isRemote: true,
      async open() {
        const folder = await madeFolder(ftp.folder, ftp.uid);
        const openAt = ({ host, port }: { host: string; port: number }) =>
          opened('ftp', { host, port: String(port), user: ftp.username }, { pass: ftp.password }, path.basename(folder));
        return { driver: await openAt(ftp), ...folderSide(folder), throughFaults: () => faulty(ftp, openAt) };
      },
    });
  });

  const ceph = await startCephRgw();
  describe.runIf(isAvailable('ceph-rgw', ceph))('on Ceph RGW', async () => {
    if (isMissing(ceph)) return;
    afterAll(() => ceph.stop());
    const bucket = await makeBucket(ceph, 'rclone');
    let storages = 0;
    describeDriver({
      name: 's3',
      lacks: [...WITHOUT, 'rename', 'space'],
      ...FEW,
      async open() {
        const root = `rule ${++storages}/ä+b`;
        const { access_key_id, secret_access_key } = JSON.parse(bucket.addition({})) as Record<string, string>;
        const openAt = (endpoint: string) =>
          opened(
            's3',
            { provider: 'Ceph', endpoint, no_check_bucket: 'true' },
            { access_key_id: access_key_id ?? '', secret_access_key: secret_access_key ?? '' },
            `rclone/${root}`,
          );
        return {
          driver: await openAt(ceph.url),
          seed: (paths: readonly string[]) => bucket.putMany(paths.map((file) => root + file)),
          leftovers: async () => bucket.uploads(`${root}/`),
        };
      },
    });
  });

  describe('in memory', () => {
    let storages = 0;
    const openWay = () =>
      webWay(
        async () => undefined,
        () => ({ type: 'memory', parameters: {} }),
      );
    describeDriver({
      name: 'memory',
      lacks: [...WITHOUT, 'rename', 'space'],
      ...FEW,
      async open() {
        const bucket = `bucket-${++storages}`;
        const maker = new RcloneClient(openWay(), { hold: () => rcd.hold(egress), get: () => rcd.get() });
        await maker.makeFolder(bucket, {});
        onTestFinished(() => maker.close());
        const settings = { places: { root: `${bucket}/a`, space: undefined }, rootPath: '/', openWay };
        return {
          driver: await RcloneDriver.open(settings, plainContext({}, { egress })),
          seed: async (paths: readonly string[]) => {
            for (const file of paths) await maker.write(`${bucket}/a${file}`, nothing(), {});
          },
        };
      },
    });
  });
});

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

async function madeFolder(parent: string, owner = 33): Promise<string> {
  const folder = await mkdtemp(path.join(parent, 'storage ä+'));
  await chown(folder, owner, owner);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function faulty(to: { host: string; port: number }, openAt: (at: { host: string; port: number }) => Promise<StorageDriver>) {
  const way = await startFaultProxy({ to: { host: to.host, port: to.port } });
  return { driver: await openAt(way), way };
}
