import { AppError } from '@wharf/errors';
import { parentPath } from '@wharf/paths';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { getWithRelated } from '../reading/get-entry.ts';
import { locate } from '../snapshot/snapshot.ts';
import { actor, bytesOf, mpath, openTree, vpath } from '../testing/memory-tree.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { makeDirectory } from './operations/make-directory.ts';
import { placeEntries } from './operations/place-entries.ts';
import { removeEntries } from './operations/remove-entries.ts';
import { renameEntry } from './operations/rename-entry.ts';
import { beginUpload } from './upload.ts';

const FOLDERS = ['/', '/d', '/d/e'];

/** A storage whose listings are kept, and what can be done in it. */
async function setUp(without: readonly 'rename'[] = []) {
  const driver = createTestDriver('Kept', ['listNames', 'statMany', ...without]);
  const memory = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Kept', order_by: 'name' }] });
  const store = driver.storeOf();
  const operation = memory.operation();
  const queue = () => Promise.reject(new Error('it is done in one step'));
  const put = async (path: string, text: string, overwrite = true) => {
    const upload = await beginUpload(operation, {
      ...{ path, overwrite, password: '', sizeBytes: undefined, modifiedAt: undefined, expectedHashes: {} },
    });
    await upload.store(bytesOf(text));
  };
  return {
    ...memory,
    driver,
    store,
    put,
    get: async (path: string) => (await getWithRelated(memory.snapshot, memory.folderCache, actor(), vpath(path), '', undefined)).entry,
    mkdir: (path: string) => makeDirectory(operation, path),
    remove: (path: string) => removeEntries(operation, { dir: parentPath(vpath(path)), names: [path.split('/').at(-1) ?? ''] }),
    rename: (path: string, name: string, overwrite = false) => renameEntry(operation, { path, name, overwrite }),
    place: (verb: 'move' | 'copy', from: string, name: string, to: string) =>
      placeEntries(operation, { src_dir: from, dst_dir: to, names: [name], overwrite: false, skip_existing: false }, verb, queue),
    listed: async (path: string) => {
      const folder = await memory.folderCache.read(locate(memory.snapshot, vpath(path)), { refresh: false, signal: undefined });
      return (await folder.entries(folder.names, undefined)).map(seen);
    },
    stored: async (path: string) => {
      const entries = await Array.fromAsync(store.list(mpath(path)));
      return entries.map(seen).sort(([left = ''], [right = '']) => (left < right ? -1 : 1));
    },
  };
}

/** The time of a folder changes with what is in it, which a listing of the folder above it need not know. */
const seen = ({ name, isDirectory, sizeBytes, modifiedAt }: Entry): [string, ...unknown[]] =>
  isDirectory ? [name] : [name, sizeBytes, modifiedAt.getTime()];

type World = Awaited<ReturnType<typeof setUp>>;

describe('a kept listing', () => {
  it('takes over what we change, and is not read again', async () => {
    const world = await setUp();
    const { driver, put, mkdir, rename, remove, place, listed, stored } = world;
    await put('/d/first', 'x');
    for (const path of ['/', '/d']) await listed(path);
    driver.calls();
    await put('/d/new', 'text');
    await put('/d/first', 'longer');
    await mkdir('/d/e');
    await rename('/d/new', 'renamed');
    await place('copy', '/d', 'renamed', '/');
    await remove('/d/renamed');
    await place('move', '/', 'renamed', '/d');
    for (const path of ['/', '/d']) expect(await listed(path)).toEqual(await stored(path));
    expect(driver.calls().list).toBeUndefined();
    expect((await listed('/d')).map(([name]) => name)).toEqual(['e', 'first', 'renamed']);
  });

  it('takes a new name over also from a storage that cannot rename', async () => {
    const { driver, put, rename, listed, stored } = await setUp(['rename']);
    await put('/d/a', 'text');
    await listed('/d');
    driver.calls();
    await rename('/d/a', 'b');
    expect(await listed('/d')).toEqual(await stored('/d'));
    expect(driver.calls()).toMatchObject({ copy: 1 });
    expect(driver.calls().list).toBeUndefined();
  });

  it('answers what an entry is like without a call, and the storage what the listing does not have', async () => {
    const { driver, store, put, get, listed } = await setUp();
    await put('/d/a', 'text');
    await listed('/d');
    driver.calls();
    expect(await get('/d/a')).toMatchObject({ name: 'a', sizeBytes: 4 });
    await put('/d/a', 'longer');
    expect(await get('/d/a')).toMatchObject({ sizeBytes: 6 });
    expect(driver.calls()).toEqual({ write: 1 });
    await store.write(mpath('/d/others'), bytesOf('x'), { overwrite: false });
    expect(await get('/d/others')).toMatchObject({ name: 'others' });
    expect(driver.calls()).toEqual({ stat: 1 });
  });

  it('spares an upload the look at a free name, and decides nothing about one that is taken', async () => {
    const { driver, store, put, listed } = await setUp();
    await put('/d/a', 'text');
    await listed('/d');
    driver.calls();
    await put('/d/b', 'text', false);
    expect(driver.calls()).toEqual({ write: 1 });
    // Others remove and make files: the listing knows neither.
    await store.remove(mpath('/d/a'), { recursive: false });
    await put('/d/a', 'again', false);
    await store.write(mpath('/d/c'), bytesOf('theirs'), { overwrite: false });
    await expect(put('/d/c', 'ours', false)).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
    expect((await store.stat(mpath('/d/c'))).sizeBytes).toBe(6);
  });
});

it('what was listed after a change of ours began is not changed by what it tells late', async () => {
  const { driver, store, put, listed, stored, folderCache } = await setUp();
  await put('/d/a', 'x');
  const late = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  driver.delayAnswers(() => {
    driver.delayAnswers(async () => {});
    written.resolve();
    return late.promise;
  });
  const ours = put('/d/a', 'ours');
  await written.promise;
  await store.write(mpath('/d/a'), bytesOf('theirs is longer'), { overwrite: true });
  folderCache.forget([vpath('/d/a')]);
  expect(await listed('/d')).toEqual(await stored('/d'));
  late.resolve();
  await ours;
  expect(await listed('/d')).toEqual(await stored('/d'));
});

/** What is done in one moment, in an order that the scheduler chooses. */
type Step = { readonly kind: 'put' | 'mkdir' | 'remove' | 'rename' | 'copy' | 'move' | 'list' | 'get' | 'others' } & Record<
  'folder' | 'name' | 'other' | 'to',
  string
>;
const folder = fc.constantFrom(...FOLDERS);
const name = fc.constantFrom('a', 'b', 'd', 'e');
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('put', 'put', 'mkdir', 'remove', 'rename', 'copy', 'move', 'list', 'get', 'others'),
  ...{ folder, name, other: name, to: folder },
});

async function take(world: World, { kind, folder, name, other, to }: Step, text: string, pass: () => Promise<void>): Promise<void> {
  const path = folder === '/' ? `/${name}` : `${folder}/${name}`;
  if (kind === 'put') await world.put(path, text);
  else if (kind === 'mkdir') await world.mkdir(path);
  else if (kind === 'remove') await world.remove(path);
  else if (kind === 'rename') await world.rename(path, other, text.length % 2 === 0);
  else if (kind === 'copy' || kind === 'move') await world.place(kind, folder, name, to);
  else if (kind === 'list') await world.listed(folder);
  else if (kind === 'get') await world.get(path);
  else {
    // Through another replica: we hear of it some time later.
    await pass();
    await world.store.write(mpath(path), bytesOf(text), { overwrite: true }).finally(async () => {
      await pass();
      world.folderCache.forget([vpath(path)]);
    });
  }
}

it('whatever is done at once, and whenever its answers come, what is kept afterwards is what is there', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 6 }), async (s, moments) => {
      const world = await setUp();
      await world.put('/d/e/a', 'x');
      let texts = 0;
      for (const steps of moments) {
        const pass = () => s.schedule(Promise.resolve());
        world.driver.beforeCalls(pass);
        world.driver.delayAnswers(pass);
        const done = steps.map((each) => {
          texts += 1;
          return take(world, each, 'x'.repeat(texts), pass).catch((error: unknown) => {
            if (!AppError.is(error)) throw error;
          });
        });
        await s.waitFor(Promise.all(done));
        world.driver.beforeCalls(async () => {});
        world.driver.delayAnswers(async () => {});
        for (const path of FOLDERS) {
          const [listed, stored] = await Promise.allSettled([world.listed(path), world.stored(path)]);
          expect(listed.status).toBe(stored.status);
          if (listed.status === 'fulfilled' && stored.status === 'fulfilled') expect(listed.value).toEqual(stored.value);
        }
      }
    }),
    { numRuns: 60 },
  );
});
