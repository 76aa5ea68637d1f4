import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { login, startStandalone, at as valueAt } from '@wharf/harness';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { at, codeOf, namesIn } from '../../driver-contract/conformance/driver-calls.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { openListDriver } from './index.ts';
import { nothingCountsWhileAway, storagesOn } from './testing/gateway-suite.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

const wharf = await startStandalone();
afterAll(() => wharf.stop());
const admin = await login(wharf.base, 'admin', wharf.adminPassword);
await showThumbnails();
const on = storagesOn({ wharf, url: wharf.base, token: admin.token, definition: openListDriver });

/** Has its storage make pictures. */
async function showThumbnails(): Promise<void> {
  const storages = (await admin.get('/api/admin/storage/list')).data;
  const local = valueAt(storages, 'content', 0);
  const addition = JSON.parse(String(valueAt(local, 'addition')));
  await admin.call('/api/admin/storage/update', { ...Object(local), addition: JSON.stringify({ ...addition, thumbnail: true }) });
}

const LACKS = ['beginRemoval', 'findOnHost', 'listAll', 'listNames', 'openDraft', 'readMany', 'space', 'statMany', 'writeMany'] as const;

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

it('a folder with a name that no listing shows is not empty, and keeps what is in it', async () => {
  const folder = path.join(wharf.filesDir, 'unlisted');
  await mkdir(path.join(folder, 'd'), { recursive: true });
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const hidden = Buffer.concat([Buffer.from(`${folder}/d/caf`), Buffer.from([0xe9])]);
  await writeFile(hidden, 'precious');
  const items = { url: wharf.base, token: admin.token, root_folder_path: '/local/unlisted' };
  const driver = (await openListDriver.open(JSON.stringify(items), testSurroundings())) as Required<StorageDriver>;
  onTestFinished(() => driver.close());
  expect(await namesIn(driver, '/d')).toEqual([]);
  expect(await codeOf(driver.remove(at('/d'), { recursive: false }))).toBe('DIRECTORY_NOT_EMPTY');
  expect(await readdir(path.join(folder, 'd'))).toHaveLength(1);
  await rm(hidden);
  await driver.remove(at('/d'), { recursive: false });
  expect(await readdir(folder)).toEqual([]);
});

nothingCountsWhileAway({ wharf, url: wharf.base, token: admin.token, definition: openListDriver });
