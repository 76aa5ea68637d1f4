import { chmod, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, isMissing, startApacheDav, startFaultProxy, type WebdavServer } from '@wharf/harness';
import { afterAll, describe, onTestFinished } from 'vitest';
import { folderSide } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { type DriverUnderTest, describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { testEgress } from './testing/test-egress.ts';

const [apache, digest] = await Promise.all([startApacheDav(), startApacheDav({ login: 'digest' })]);
const LACKS: readonly OptionalOperation[] = ['findOnHost', 'link', 'listAll', 'listNames', 'openDraft', 'space', 'statMany', 'thumbnail'];

const openOn = (server: WebdavServer, around: (driver: StorageDriver) => StorageDriver) => async (): Promise<StorageUnderTest> => {
  const folder = await mkdtemp(path.join(server.folder, 'storage ä+'));
  await chmod(folder, 0o777);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const openAt = async ({ host, port }: { host: string; port: number }) => {
    const items = {
      address: `http://${host}:${port}/dav`,
      username: server.username,
      password: server.password,
      root_folder_path: `/${path.basename(folder)}`,
    };
    return around(await webdavDriver.open(JSON.stringify(items), { egress: testEgress() }));
  };
  return {
    driver: await openAt(server),
    ...folderSide(folder),
    connections: () => server.connections(),
    async throughFaults() {
      const way = await startFaultProxy({ to: server });
      return { driver: await openAt(way), way };
    },
  };
};

describe.runIf(isAvailable('apache2', apache))('on Apache', () => {
  if (isMissing(apache) || isMissing(digest)) return;
  afterAll(async () => {
    await apache.stop();
    await digest.stop();
  });
  const common: Omit<DriverUnderTest, 'name' | 'open'> = { lacks: LACKS, isRemote: true };
  describeDriver({
    ...common,
    name: 'WebDav',
    documented: { driver: 'WebDav', server: 'Apache' },
    open: openOn(apache, (driver) => driver),
  });
  describeDriver({
    ...common,
    name: 'WebDav by Digest, with everything around it',
    open: openOn(digest, (driver) => decorate(driver, webdavDriver.limits)),
  });
});
