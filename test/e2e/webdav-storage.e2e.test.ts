import { readdir } from 'node:fs/promises';
import { isAvailable, isMissing, startApacheDav, startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { carry, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { openWorld } from './support/world.ts';

const apache = await startApacheDav({ login: 'digest' });
/** More of them is for a long run: `WHARF_E2E_FILES=500`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 40);

describe.runIf(isAvailable('apache2', apache))('a WebDAV storage', async () => {
  if (isMissing(apache)) return;
  const world = await openWorld(startStandalone);
  const { path: local } = await world.folder('webdav');
  const { url, username, password } = apache;
  const addition = JSON.stringify({ vendor: 'other', address: url, username, password, root_folder_path: '/' });
  const cloud = '/webdav-cloud';
  await world.admin.call('/api/admin/storage/create', { mount_path: cloud, driver: 'WebDav', addition });
  afterAll(async () => {
    await world.close();
    await apache.stop();
  });
  await plantTree(world, `${local}/origin/tree`, FILES);
  const planted = await treeOf(world, `${local}/origin/tree`);

  test('trees are copied and moved there, within it and back, with every byte, and nothing is left behind', async () => {
    expect(planted).toHaveLength(FILES + 1);
    await carry(world, 'copy', `${local}/origin`, 'tree', `${cloud}/first`);
    expect(await treeOf(world, `${cloud}/first/tree`)).toEqual(planted);
    await carry(world, 'copy', `${cloud}/first`, 'tree', `${cloud}/second`);
    await carry(world, 'move', `${cloud}/second`, 'tree', `${cloud}/third`);
    expect(await treeOf(world, `${cloud}/third/tree`)).toEqual(planted);
    await carry(world, 'move', `${cloud}/third`, 'tree', `${local}/back`);
    expect(await treeOf(world, `${local}/back/tree`)).toEqual(planted);
    for (const name of ['first', 'second', 'third']) await clear(world, cloud, name);
    expect(await readdir(apache.folder)).toEqual([]);
  });
});
