import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { countConnections, login, startFaultProxy, startStandalone, at as valueAt } from '@wharf/harness';
import { afterAll } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { openListDriver } from './index.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

const wharf = await startStandalone();
afterAll(() => wharf.stop());
const admin = await login(wharf.base, 'admin', wharf.adminPassword);
const { token } = admin;
await showThumbnails();
const port = Number(new URL(wharf.base).port);

const standing = standingFolder(wharf.filesDir);

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(wharf.filesDir, 'storage ä+'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const on = (around: (driver: StorageDriver) => StorageDriver) => ({
  open: async () => openIn(await newFolder(), around),
  openStanding: async () => ({ ...(await openIn(await standing(), around)), isStanding: true as const }),
});

async function openIn(folder: string, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> {
  const openAt = async (base: string, rest: Record<string, unknown> = {}) => {
    const items = { url: base, token, root_folder_path: `/local/${path.basename(folder)}`, ...rest };
    return around(await openListDriver.open(JSON.stringify(items), testSurroundings()));
  };
  return {
    driver: await openAt(wharf.base),
    seed: folderSide(folder).seed,
    leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-')),
    connections: () => countConnections(port),
    badLogin: { secret: 'another-secret', open: () => openAt(wharf.base, { token: 'another-secret' }) },
    web: {
      url: wharf.base,
      secrets: [String(token)],
      open: (url: string) => openAt(url),
      refuseLogin: (response: ServerResponse) => void response.end(JSON.stringify({ code: 401, message: 'token is expired', data: null })),
    },
    async throughFaults() {
      const way = await startFaultProxy({ to: { host: '127.0.0.1', port } });
      return { driver: await openAt(`http://${way.host}:${way.port}`), way, keeps: 2 };
    },
  };
}

/** Has its storage make pictures. */
async function showThumbnails(): Promise<void> {
  const storages = (await admin.get('/api/admin/storage/list')).data;
  const local = valueAt(storages, 'content', 0);
  const addition = JSON.parse(String(valueAt(local, 'addition')));
  await admin.call('/api/admin/storage/update', { ...Object(local), addition: JSON.stringify({ ...addition, thumbnail: true }) });
}

const LACKS = ['findOnHost', 'listAll', 'listNames', 'openDraft', 'readMany', 'space', 'statMany', 'writeMany'] as const;

describeDriver({
  name: 'OpenList, over another Wharf',
  documented: { driver: 'OpenList', server: 'another Wharf' },
  lacks: LACKS,
  isRemote: true,
  isWeb: true,
  hasNoTrustItem: true,
  hasLogin: true,
  ...on((driver) => driver),
});
describeDriver({
  name: 'OpenList, over another Wharf, with everything around it',
  lacks: LACKS,
  isRemote: true,
  isWeb: true,
  hasNoTrustItem: true,
  hasLogin: true,
  ...on((driver) => decorate(driver, openListDriver.limits)),
});
