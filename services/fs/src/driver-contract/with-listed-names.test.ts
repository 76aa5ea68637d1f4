import type { MountPath } from '@wharf/paths';
import { expect, it, onTestFinished, vi } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { at, codeOf, put } from './conformance/driver-calls.ts';
import { OwnPart } from './own-part.ts';
import type { PublishOptions, StorageDriver } from './storage-driver.ts';
import { saidOfPart, storageError } from './storage-error.ts';
import { heldWhileOpen } from './while-open.ts';
import { withListedNames } from './with-listed-names.ts';
import { withPresentRoot } from './with-present-root.ts';

/** What a store is asked. @param other by which it finds an entry, too, but does not list it */
async function openCounted(other?: { name: string; entry: string }) {
  const store = (await memoryDriver.open('{}')) as Required<StorageDriver>;
  const asked = { stat: 0, list: 0 };
  const real = (path: MountPath) => (other ? (path.replace(other.name, () => other.entry) as MountPath) : path);
  const inner = decorated({
    ...operationsOf(store),
    stat(path, options) {
      asked.stat += 1;
      return store.stat(real(path), options);
    },
    async *list(folder, options) {
      asked.list += 1;
      yield* store.list(real(folder), options);
    },
    statMany: undefined,
    listNames: undefined,
  });
  return { store, asked, inner, driver: withListedNames(inner) as Required<StorageDriver> };
}

it('names with times of day are looked at without reading their folder, before and after they are made', async () => {
  const { driver, asked } = await openCounted();
  for (let minute = 10; minute < 60; minute += 1) {
    const path = at(`/2026-01-01 12:${minute}:00.jpg`);
    expect(await codeOf(driver.stat(path))).toBe('ENTRY_NOT_FOUND');
    await put(driver, path, 'text');
    await driver.stat(path);
    expect(await codeOf(driver.read(path))).toBe('done');
  }
  expect(asked.list).toBe(0);
  expect(asked.stat).toBeLessThan(50 * 6);
});

it('a stream of a file is no entry', async () => {
  for (const name of ['plan.txt::$DATA', 'PLAN~1.TXT:x']) {
    const { driver, store } = await openCounted({ name, entry: 'plan.txt' });
    await put(store, '/plan.txt', 'text');
    expect(await codeOf(driver.stat(at(`/${name}`)))).toBe('ENTRY_NOT_FOUND');
    expect(await codeOf(put(driver, at(`/${name}`), 'changed'))).toBe('ENTRY_EXISTS');
  }
});

it('many new files of doubtful names do not have their folder read for each, and what is looked for at one time has it read once', async () => {
  const { driver, store, asked } = await openCounted();
  const paths = Array.from({ length: 50 }, (_, index) => at(`/FILE~${index}`));
  for (const path of paths) {
    await put(driver, path, 'text');
    await driver.stat(path);
  }
  // One look at each by the way of a folder.
  expect(asked.list).toBe(50);
  const again = withListedNames(
    decorated({
      ...operationsOf(store),
      async *list(folder, options) {
        asked.list += 1;
        yield* store.list(folder, options);
      },
    }),
  );
  asked.list = 0;
  await Promise.all(paths.map((path) => again.stat(path)));
  expect(asked.list).toBe(1);
});

it('a path of a thousand doubtful folders that are not there costs few looks', async () => {
  const { driver, asked } = await openCounted();
  const deep = at('/a:b'.repeat(1000));
  expect(await codeOf(driver.stat(deep))).toBe('ENTRY_NOT_FOUND');
  await driver.makeDirectory(deep).catch(() => undefined);
  expect(asked.stat + asked.list).toBeLessThan(10);
});

it('a storage that finds exact names is asked as it is', async () => {
  const { inner } = await openCounted();
  const exact = decorated({ ...operationsOf(inner), traits: { ...inner.traits, findsExactNames: true } });
  expect(withListedNames(exact)).toBe(exact);
});

it('while the root is away nothing of a doubtful name counts as removed', async () => {
  for (const [missing, code] of [
    [storageError('ENTRY_NOT_FOUND'), 'STORAGE_UNAVAILABLE'],
    [saidOfPart(storageError('ENTRY_NOT_FOUND')), 'STORAGE_UNAVAILABLE'],
  ] as const) {
    const { inner } = await openCounted();
    const away = decorated({
      ...operationsOf(inner),
      stat: () => Promise.reject(missing),
      // biome-ignore lint/correctness/useYield: there is nothing to yield
      async *list() {
        throw missing;
      },
    });
    const driver = withPresentRoot(withListedNames(away)) as Required<StorageDriver>;
    expect(await codeOf(driver.remove(at('/FILE~1'), { recursive: true }))).toBe(code);
  }
});

it('what is refused of several is not asked for, and no call is made for none', async () => {
  const { driver: open, inner } = await openCounted({ name: 'FILE~1', entry: 'file' });
  await put(open, '/file', 'text');
  const calls: unknown[] = [];
  const driver = withListedNames(
    decorated({
      ...operationsOf(inner),
      beginRemoval: async (paths) => {
        calls.push(paths);
        return paths.map(() => undefined);
      },
    }),
  ) as Required<StorageDriver>;
  const answers = await driver.beginRemoval([at('/FILE~1')]);
  expect(answers).toMatchObject([{ code: 'FAILED_PRECONDITION' }]);
  expect(calls).toEqual([]);
});

/** Removals that begin in a deep folder of doubtful names. @param others that are there beside them, and come first */
async function beginMany(depth: number, count: number, nameOf: (index: number) => string, others = 0) {
  const { store, inner, asked } = await openCounted();
  const paths = Array.from({ length: count }, (_, index) => at(`${'/a:'.repeat(depth)}/${nameOf(index)}`));
  for (let index = 0; index < others; index += 1) await put(store, `${'/a:'.repeat(depth)}/other ${index}`, '');
  for (const path of paths) await put(store, path, '');
  let listed = 0;
  const driver = withListedNames(
    decorated({
      ...operationsOf(inner),
      async *list(folder, options) {
        for await (const entry of inner.list(folder, options)) {
          listed += 1;
          yield entry;
        }
      },
      beginRemoval: async (some) => some.map(() => 'begun'),
    }),
  );
  return { listed: () => listed, asked, begin: () => (driver as Required<StorageDriver>).beginRemoval(paths) };
}

it('many names with times of day of one call have their folder listed once, and are not looked at one by one', async () => {
  const { asked, begin } = await beginMany(1, 1_000, (index) => `12:${index}.jpg`);
  const answers = await begin();
  expect(new Set(answers)).toEqual(new Set(['begun']));
  expect(asked.list).toBe(1);
  expect(asked.stat).toBeLessThan(10);
});

it('a folder that is long is not listed to its end for names that looks tell of sooner', async () => {
  const { listed, begin } = await beginMany(1, 200, (index) => `12:${index}.jpg`, 30_000);
  expect(new Set(await begin())).toEqual(new Set(['begun']));
  expect(listed()).toBe(20_000);
});

it('of many names in a deep folder the way to it is gone once, and others have their turn meanwhile', async () => {
  const looks = vi.spyOn(OwnPart.prototype, 'get');
  onTestFinished(() => looks.mockRestore());
  const { begin } = await beginMany(50, 10_000, (index) => `plain ${index}`);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await begin();
  isOver = true;
  expect(turns).toBeGreaterThan(0);
  expect(looks.mock.calls.length).toBeLessThan(1_000);
});

it('a removal that has begun goes on, though its folder has lost its name', async () => {
  const { inner, store } = await openCounted();
  await put(store, '/FILE~1/plan', 'text');
  await store.rename(at('/FILE~1'), at('/aside'), { overwrite: false });
  const gone: unknown[] = [];
  const driver = withListedNames(decorated({ ...operationsOf(inner), remove: async (_path, { begun }) => void gone.push(begun) }));
  expect(await codeOf((driver as Required<StorageDriver>).remove(at('/FILE~1'), { recursive: true, begun: 'aside' }))).toBe('done');
  expect(gone).toEqual(['aside']);
});

it.each(['remove', 'remove that fails', 'beginRemoval', 'rename that fails'])(
  'a name that went counts as listed no more: %s',
  async (way) => {
    const { inner, store } = await openCounted({ name: 'FILE~1', entry: 'secret' });
    const lost = async (done: Promise<unknown>) => {
      await done;
      throw storageError('STORAGE_UNAVAILABLE');
    };
    const driver = withListedNames(
      decorated({
        ...operationsOf(inner),
        remove: (path, options) => (way === 'remove' ? store.remove(path, options) : lost(store.remove(path, options))),
        rename: (from, to, options) => lost(store.rename(from, to, options)),
        beginRemoval: async (paths) => {
          for (const path of paths) await store.remove(path, { recursive: true });
          return paths.map(() => undefined);
        },
      }),
    ) as Required<StorageDriver>;
    await put(driver, '/FILE~1', 'ours');
    if (way.startsWith('rename')) await driver.rename(at('/FILE~1'), at('/other'), { overwrite: false }).catch(() => undefined);
    else if (way === 'beginRemoval') await driver.beginRemoval([at('/FILE~1')]);
    else await driver.remove(at('/FILE~1'), { recursive: false }).catch(() => undefined);
    await put(store, '/secret', 'theirs');
    expect(await codeOf(driver.stat(at('/FILE~1')))).toBe('ENTRY_NOT_FOUND');
    expect(await codeOf(driver.read(at('/FILE~1')))).toBe('ENTRY_NOT_FOUND');
  },
);

it('a folder that stays, as it is not empty, does not have the one around it read again', async () => {
  const { driver, store, asked } = await openCounted();
  await put(store, '/FILE~1/plan', 'text');
  await driver.stat(at('/FILE~1'));
  asked.list = 0;
  expect(await codeOf(driver.remove(at('/FILE~1'), { recursive: false }))).toBe('DIRECTORY_NOT_EMPTY');
  expect(await codeOf(driver.remove(at('/FILE~1'), { recursive: true }))).toBe('done');
  expect(asked.list).toBe(0);
});

it('what got a name while a content came for it is not replaced, by a draft neither', async () => {
  const { inner, store } = await openCounted({ name: 'FILE~1', entry: 'secret' });
  const driver = withListedNames(
    decorated({
      ...operationsOf(inner),
      openDraft: async () => {
        const none = async () => {};
        const publish = async ({ beforePublish }: PublishOptions) => beforePublish?.();
        return { write: none, sync: none, sizeBytes: none, read: none, discard: none, close: none, publish } as never;
      },
    }),
  ) as Required<StorageDriver>;
  const draft = await driver.openDraft(at('/FILE~1'), 'id', { create: true });
  const content = (async function* () {
    await put(store, '/secret', 'theirs');
    const later = performance.now() + 3_000;
    onTestFinished(vi.spyOn(performance, 'now').mockReturnValue(later).mockRestore);
    yield Buffer.from('ours');
  })();
  expect(await codeOf(driver.write(at('/FILE~1'), content, { overwrite: true }))).toBe('ENTRY_EXISTS');
  expect(await codeOf(draft.publish({ overwrite: true }))).toBe('ENTRY_EXISTS');
});

it('whoever holds a connection lists for itself, as what others list may wait for that one', async () => {
  const { inner, store } = await openCounted();
  for (const name of ['FILE~1', 'FILE~2']) await put(store, `/${name}`, 'text');
  const ended = Promise.withResolvers<void>();
  const driver = withListedNames(
    decorated({
      ...operationsOf(inner),
      async *list(folder, options) {
        if (heldWhileOpen.getStore() === undefined) await ended.promise;
        yield* store.list(folder, options);
      },
    }),
  );
  const other = driver.stat(at('/FILE~1'));
  await heldWhileOpen.run(new Map(), () => driver.stat(at('/FILE~2')));
  ended.resolve();
  expect((await other).name).toBe('FILE~1');
});
