import { at, startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { fetchFile } from './support/files.ts';
import { carry, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { openWorld, type World } from './support/world.ts';

/** More of them is for a long run: `WHARF_E2E_FILES=500`. */
const FILES = Number(process.env.WHARF_E2E_FILES ?? 40);

const worlds = await Promise.all([0, 1, 2].map(() => openWorld(startStandalone)));
const [one, two, three] = worlds as [World, World, World];
afterAll(async () => {
  for (const world of worlds) await world.close();
});

/** Shows a folder of one gateway in another, as its admin would enter it. */
async function mount(world: World, mount_path: string, there: World, root = '/', driver = 'OpenList'): Promise<void> {
  const addition = { url: there.base, username: 'admin', password: there.wharf.adminPassword, root_folder_path: root };
  await world.admin.call('/api/admin/storage/create', { mount_path, driver, web_proxy: true, addition: JSON.stringify(addition) });
}

const list = (world: World, path: string) => world.admin.post('/api/fs/list', { path, per_page: 0, refresh: true });
const names = async (world: World, path: string) => {
  const content = at((await list(world, path)).data, 'content');
  return Array.isArray(content) ? content.map((entry) => at(entry, 'name')) : undefined;
};

describe('gateways that mount each other', async () => {
  await mount(one, '/two', two);
  await mount(two, '/three', three);
  await mount(three, '/one', one, '/', 'AList V3');
  await mount(two, '/one', one);

  test('what is in the other one is seen through it, and through one behind it', async () => {
    expect(await names(one, '/two')).toEqual(['local', 'one', 'three']);
    expect(await names(one, '/two/three')).toEqual(['local', 'one']);
    expect(await names(two, '/one/local')).toEqual([]);
  });

  test.each([
    ['two that mount each other', '/two/one'],
    ['three in a circle', '/two/three/one'],
    ['what lies behind the circle', '/two/three/one/two/local'],
  ])('%s are refused where the circle closes, at once and by name', async (_, path) => {
    for (const call of [list(one, path), one.admin.post('/api/fs/get', { path: `${path}/local` })]) {
      const { code, message, headers } = await call;
      expect({ code, message, name: headers['x-error-code'] }).toEqual({
        code: 500,
        message: expect.stringContaining('in a circle'),
        name: 'CIRCULAR_MOUNT',
      });
    }
    // Those who asked last are well, and so is what they stand on.
    expect(await names(two, '/one')).toEqual(['local', 'two']);
    expect(await names(three, '/one')).toEqual(['local', 'two']);
  });

  test('a gateway is no storage of itself', async () => {
    const addition = { url: one.base, username: 'admin', password: one.wharf.adminPassword, root_folder_path: '/' };
    const made = await one.admin.post('/api/admin/storage/create', {
      mount_path: '/me',
      driver: 'OpenList',
      addition: JSON.stringify(addition),
    });
    expect(made.message).toContain('in a circle');
    await one.admin.call(`/api/admin/storage/delete?id=${at(made.data, 'id')}`);
  });

  test('trees go to the other one, within it and back, by copy and move, with every byte', async () => {
    const { path: here } = await one.folder('gateways');
    await plantTree(one, `${here}/origin/tree`, FILES);
    const planted = await treeOf(one, `${here}/origin/tree`);
    const there = '/two/local';
    await carry(one, 'copy', `${here}/origin`, 'tree', `${there}/first`);
    expect(await treeOf(one, `${there}/first/tree`)).toEqual(planted);
    expect(await treeOf(two, '/local/first/tree')).toEqual(planted);
    await carry(one, 'copy', `${there}/first`, 'tree', `${there}/second`);
    await carry(one, 'move', `${there}/second`, 'tree', `${there}/third`);
    expect(await treeOf(one, `${there}/third/tree`)).toEqual(planted);
    await carry(one, 'move', `${there}/third`, 'tree', `${here}/back`);
    expect(await treeOf(one, `${here}/back/tree`)).toEqual(planted);
    // The other way round, and through two of them.
    await carry(two, 'copy', `/one${here}/back`, 'tree', '/three/local/far');
    expect(await treeOf(one, '/two/three/local/far/tree')).toEqual(planted);
    await carry(one, 'copy', '/two/three/local/far', 'tree', `${here}/again`);
    expect(await treeOf(one, `${here}/again/tree`)).toEqual(planted);
    for (const name of ['first', 'second', 'third']) await clear(one, there, name);
    expect(await names(two, '/local')).toEqual([]);
  });

  test('a file is opened by the link of the gateway that has it', async () => {
    const { path: here } = await two.folder('links');
    await plantTree(two, here, 1);
    const addition = { url: two.base, username: 'admin', password: two.wharf.adminPassword, root_folder_path: here };
    await one.admin.call('/api/admin/storage/create', { mount_path: '/links', driver: 'OpenList', addition: JSON.stringify(addition) });
    const [name] = (await names(one, '/links')) ?? [];
    const url = at((await one.admin.post('/api/fs/get', { path: `/links/${name}` })).data, 'raw_url');
    expect(String(url)).toContain(new URL(two.base).host);
    const whole = await fetchFile(two.admin, two.base, `${here}/${name}`);
    expect(Buffer.from(await (await fetch(String(url))).arrayBuffer()).equals(whole.body)).toBe(true);
  });
});
