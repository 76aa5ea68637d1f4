import { expect, it } from 'vitest';
import { z } from 'zod';
import { bytesOf, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { defineDriver } from '../driver-contract/define-driver.ts';
import type { StorageDriver } from '../driver-contract/storage-driver.ts';
import { MemoryDriver, type MemoryProfile } from '../drivers/memory/driver.ts';
import { moveEntries } from './testing/place-now.ts';

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
      'a file changed while it was moved; it stays in both places',
    ]);
    expect(await tree.everything('/')).toEqual(['/from/d/kept', '/to/d/kept', '/to/d/moved']);
    expect(await tree.textOf('/from/d/kept')).toBe('after!');
  },
);
