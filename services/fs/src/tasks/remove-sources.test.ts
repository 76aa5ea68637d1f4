import { expect, it } from 'vitest';
import { z } from 'zod';
import { bytesOf, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { defineDriver } from '../driver-contract/define-driver.ts';
import type { StorageDriver } from '../driver-contract/storage-driver.ts';
import { storageError } from '../driver-contract/storage-error.ts';
import { MemoryDriver, type MemoryProfile } from '../drivers/memory/driver.ts';
import type { PlacementInput } from './placement.ts';
import { moveEntries, runPlacement } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const put = (driver: MemoryDriver, path: string, text: string, modifiedAt = new Date(1_000)) =>
  driver.write(mpath(path), bytesOf(text), { overwrite: true, modifiedAt });

/** A storage in which something is stored by somebody else right before each removal of a file. */
async function openChanging(store: MemoryDriver, change: (path: string) => Promise<unknown>) {
  const view: StorageDriver = new Proxy(store, {
    get(target, key) {
      if (key === 'close') return async () => {};
      const value = Reflect.get(target, key, target);
      if (key !== 'remove') return typeof value === 'function' ? value.bind(target) : value;
      return async (...[path, options]: Parameters<MemoryDriver['remove']>) => {
        if (!(await target.stat(path)).isDirectory) await change(path);
        await target.remove(path, options);
      };
    },
  });
  const changing = defineDriver({
    name: 'Changing',
    label: 'Changing',
    internal: true,
    config: { local_sort: true, only_proxy: true },
    configSchema: z.object({}),
    open: async () => view,
  });
  return openTree({ drivers: [changing], storages: [{ mount_path: '/from', driver: 'Changing' }, { mount_path: '/to' }] });
}

const PROFILES: readonly [string, MemoryProfile, Date][] = [
  ['a later time', {}, new Date(2_000)],
  ['another version, of one second', { hasObjects: true, timeStepMs: 1_000 }, new Date(1_000)],
];

it.each(PROFILES)(
  'a file that is stored anew between the last look and its removal stays in both places: %s',
  async (_what, profile, modifiedAt) => {
    const store = new MemoryDriver(profile);
    for (const name of ['kept', 'moved']) await put(store, `/d/${name}`, 'before');
    const tree = await openChanging(store, async (path) => path === '/d/kept' && put(store, path, 'after!', modifiedAt));
    const request = { src_dir: '/from', dst_dir: '/to', names: ['d'], overwrite: false, skip_existing: false };
    expect(await refusalOf(moveEntries(tree.operation(), request))).toEqual([
      'CONTENT_CORRUPT',
      'a file changed while it was moved; it stays in both places: kept',
    ]);
    expect(await tree.everything('/')).toEqual(['/from/d/kept', '/to/d/kept', '/to/d/moved']);
    expect(await tree.textOf('/from/d/kept')).toBe('after!');
  },
);

/** The move of `/from/d` to `/to`. */
const MOVED: PlacementInput = { source: '/from/d', target: '/to/d', sourceStorage: 1, targetStorage: 2, conflict: 'refuse' };

it('folders that stay, as their storage has something in them, are told of', async () => {
  const store = new MemoryDriver();
  for (const path of ['/d/some/e/f', '/d/none/f']) await put(store, path, 'text');
  const tree = await openChanging(store, async (path) => path === '/d/some/e/f' && put(store, '/d/some/e/hidden', 'unlisted'));
  const run = createTestRun({ signal: new AbortController().signal });
  await runPlacement(tree.operation(), 'move', MOVED, run);
  expect(run.progress.at(-1)).toMatchObject({ status: 'moved; folders that are not empty stay: some/e and 2 more' });
  expect(await tree.everything('/from')).toEqual(['/from/d/some/e/hidden']);
});

it('a file that somebody has stored in the place of a folder stays', async () => {
  const store = new MemoryDriver();
  for (const path of ['/d/some/f', '/d/some/e/f']) await put(store, path, 'text');
  await store.makeDirectory(mpath('/d/empty'));
  const exchanged = async (path: string) => {
    if (path !== '/d/some/f') return;
    for (const folder of ['/d/empty', '/d/some/e']) {
      await store.remove(mpath(folder), { recursive: true });
      await put(store, folder, `stored as ${folder}`);
    }
  };
  const tree = await openChanging(store, exchanged);
  await runPlacement(tree.operation(), 'move', MOVED, createTestRun({ signal: new AbortController().signal }));
  expect(await tree.everything('/from')).toEqual(['/from/d/empty', '/from/d/some/e']);
  expect(await tree.textOf('/from/d/some/e')).toBe('stored as /d/some/e');
});

it('a file of which its storage does not tell that it is whole stays, and is not said to have changed', async () => {
  const store = new MemoryDriver({ hidesSizes: true });
  await put(store, '/d/sheet', 'text');
  const tree = await openChanging(store, async () => Promise.reject(storageError('STALE_VERSION')));
  const run = createTestRun({ signal: new AbortController().signal });
  const [code, text] = await refusalOf(runPlacement(tree.operation(), 'move', MOVED, run));
  expect([code, text]).toEqual(['CONTENT_CORRUPT', expect.stringMatching(/no known size stays in both places.*: sheet$/)]);
  expect(await tree.everything('/')).toEqual(['/from/d/sheet', '/to/d/sheet']);
});
