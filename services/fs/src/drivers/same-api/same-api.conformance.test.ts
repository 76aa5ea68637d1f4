import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { countConnections, login, startFaultProxy, startStandalone, at as valueAt } from '@wharf/harness';
import { afterAll, onTestFinished } from 'vitest';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
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

const openOn = (around: (driver: StorageDriver) => StorageDriver) => async (): Promise<StorageUnderTest> => {
  const folder = await mkdtemp(path.join(wharf.filesDir, 'storage ä+'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const openAt = async (base: string) => {
    const items = { url: base, token, root_folder_path: `/local/${path.basename(folder)}` };
    return around(await openListDriver.open(JSON.stringify(items), testSurroundings()));
  };
  return {
    driver: await openAt(wharf.base),
    async seed(paths) {
      for (const file of paths) {
        await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
        await writeFile(path.join(folder, file), '');
      }
    },
    leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-')),
    connections: () => countConnections(port),
    async throughFaults() {
      const way = await startFaultProxy({ to: { host: '127.0.0.1', port } });
      return { driver: await openAt(`http://${way.host}:${way.port}`), way };
    },
  };
};

/** Has its storage make pictures. */
async function showThumbnails(): Promise<void> {
  const storages = (await admin.get('/api/admin/storage/list')).data;
  const local = valueAt(storages, 'content', 0);
  const addition = JSON.parse(String(valueAt(local, 'addition')));
  await admin.call('/api/admin/storage/update', { ...Object(local), addition: JSON.stringify({ ...addition, thumbnail: true }) });
}

const LACKS = ['findOnHost', 'listAll', 'listNames', 'openDraft', 'space', 'statMany'] as const;

describeDriver({
  name: 'OpenList, over another Wharf',
  documented: { driver: 'OpenList', server: 'another Wharf' },
  lacks: LACKS,
  isRemote: true,
  open: openOn((driver) => driver),
});
describeDriver({
  name: 'OpenList, over another Wharf, with everything around it',
  lacks: LACKS,
  isRemote: true,
  open: openOn((driver) => decorate(driver, openListDriver.limits)),
});
