import { chmod, mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { isAvailable, isMissing, startApacheDav, startFaultProxy, type WebdavServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest, Trust } from '../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { trustItems } from '../../driver-contract/conformance/tls-rules.suite.ts';
import { type DriverUnderTest, describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { testEgress } from './testing/test-egress.ts';

const [apache, digest] = await Promise.all([startApacheDav(), startApacheDav({ login: 'digest' })]);
const LACKS: readonly OptionalOperation[] = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'space',
  'statMany',
  'thumbnail',
  'writeMany',
];

async function newFolder(server: WebdavServer): Promise<string> {
  const folder = await mkdtemp(path.join(server.folder, 'storage ä+'));
  await chmod(folder, 0o777);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function on(server: WebdavServer, around: (driver: StorageDriver) => StorageDriver) {
  const standing = standingFolder(server.folder);
  return {
    open: async () => openIn(await newFolder(server), server, around),
    openStanding: async () => ({ ...(await openIn(await standing(), server, around)), isStanding: true as const }),
  };
}

async function openIn(folder: string, server: WebdavServer, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> {
  const openAt = async (origin: string, rest: Record<string, unknown> = {}) => {
    const items = {
      address: `${origin}/dav`,
      username: server.username,
      password: server.password,
      root_folder_path: `/${path.basename(folder)}`,
      ...rest,
    };
    return around(await webdavDriver.open(JSON.stringify(items), { egress: testEgress() }));
  };
  const origin = `http://${server.host}:${server.port}`;
  return {
    driver: await openAt(origin),
    ...folderSide(folder),
    connections: () => server.connections(),
    badLogin: { secret: 'another-secret', open: () => openAt(origin, { password: 'another-secret' }) },
    web: {
      url: origin,
      secrets: [server.password, Buffer.from(`${server.username}:${server.password}`).toString('base64')],
      open: (url: string, trust?: Trust) => openAt(url, trustItems(trust)),
      refuseLogin: (response: ServerResponse) =>
        void response.writeHead(401, { 'WWW-Authenticate': `${server === apache ? 'Basic' : 'Digest'} realm="x", nonce="another"` }).end(),
    },
    async throughFaults() {
      const way = await startFaultProxy({ to: server });
      return { driver: await openAt(`http://${way.host}:${way.port}`), way, keeps: 4 };
    },
  };
}

describe.runIf(isAvailable('apache2', apache))('on Apache', () => {
  if (isMissing(apache) || isMissing(digest)) return;
  afterAll(async () => {
    await apache.stop();
    await digest.stop();
  });
  const common: Omit<DriverUnderTest, 'name' | 'open'> = { lacks: LACKS, isRemote: true, isWeb: true, hasLogin: true, hasServer: true };
  describeDriver({
    ...common,
    name: 'WebDav',
    documented: { driver: 'WebDav', server: 'Apache' },
    ...on(apache, (driver) => driver),
  });
  describeDriver({
    ...common,
    name: 'WebDav by Digest, with everything around it',
    ...on(digest, (driver) => decorate(driver, webdavDriver.limits)),
  });
});
