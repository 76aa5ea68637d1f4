import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { type MountPath, parentPath } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { bytesOf } from '../domain/testing/memory-tree.ts';
import { usedBytes } from '../domain/testing/used-bytes.ts';
import { aliasDriver } from '../drivers/alias/index.ts';
import { cryptDriver } from '../drivers/crypt/index.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { at, codeOf, namesIn, put, refuses, textOf } from './conformance/driver-calls.ts';
import { decorate } from './decorate.ts';
import type { Draft, Entry, RemoveOptions, StorageDriver, WriteOptions } from './storage-driver.ts';
import { LoneNames, withLoneRemovals } from './with-lone-removals.ts';

type Whole = Required<StorageDriver>;

/** A storage that looks and removes in two steps, with time in between; what it is asked is in `asked`. */
async function openSlow(around: (driver: StorageDriver) => StorageDriver = withLoneRemovals) {
  const store = (await memoryDriver.open('')) as Whole;
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  const asked: RemoveOptions[] = [];
  const slow: StorageDriver = Object.assign(Object.create(store) as Whole, {
    ...bound(store),
    remove: async (path: Parameters<Whole['remove']>[0], options: RemoveOptions) => {
      asked.push(options);
      await hold;
      await store.remove(path, { recursive: options.recursive });
    },
  });
  const driver = around(slow) as Whole;
  await put(driver, '/d/file', 'before');
  const before = await driver.stat(at('/d/file'));
  return { store, driver, before, go, asked, removing: () => driver.remove(at('/d/file'), { recursive: false, onlyIf: before }) };
}

/** Its methods as own ones. */
function bound(driver: Whole): Partial<Whole> {
  const names = ['stat', 'list', 'read', 'write', 'makeDirectory', 'rename', 'copy', 'listNames', 'statMany', 'close'] as const;
  return Object.fromEntries(names.flatMap((name) => (driver[name] ? [[name, (driver[name] as () => unknown).bind(driver)]] : [])));
}

/** Time enough for a storage in memory. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
}

/** A content that ends when it is told. */
function held(text: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const content = (async function* () {
    yield Buffer.from(text);
    await promise;
  })();
  return { content, end: resolve };
}

const NAMINGS: readonly [string, (driver: Whole) => Promise<unknown>][] = [
  ['a write', (driver) => put(driver, '/d/file', 'new')],
  ['a rename to its name', (driver) => driver.rename(at('/other'), at('/d/file'), { overwrite: true })],
  ['a copy to its name', (driver) => driver.copy(at('/other'), at('/d/file'), { overwrite: true })],
];

describe('a removal of a folder that is empty', () => {
  /** What comes into the folder, by a storage that looks whether it is empty and then removes it with all that is in it. */
  const COMERS: readonly [string, (driver: Whole) => Promise<unknown>][] = [
    ['a write', (driver) => put(driver, '/e/deep/file', 'new')],
    ['a folder', (driver) => driver.makeDirectory(at('/e/folder'))],
  ];
  const openHasty = async (changed: Partial<Whole> = {}) => {
    const store = (await memoryDriver.open('')) as Whole;
    const { promise: hold, resolve: go } = Promise.withResolvers<void>();
    const hasty: StorageDriver = Object.assign(Object.create(store) as Whole, {
      ...bound(store),
      remove: async (path: Parameters<Whole['remove']>[0]) => {
        if ((await namesIn(store, path)).length > 0) throw new AppError('DIRECTORY_NOT_EMPTY', 'not empty');
        await hold;
        await store.remove(path, { recursive: true });
      },
      rename: async (...[from, to, options]: Parameters<Whole['rename']>) => {
        if (!options.overwrite) return store.rename(from, to, options);
        if ((await namesIn(store, to)).length > 0) throw new AppError('DIRECTORY_NOT_EMPTY', 'not empty');
        await hold;
        await store.remove(to, { recursive: true });
        return store.rename(from, to, { overwrite: false });
      },
      ...changed,
    });
    const driver = withLoneRemovals(hasty) as Whole;
    await put(driver, '/d/file', 'new');
    await driver.makeDirectory(at('/e'));
    const replacing = () => driver.rename(at('/d'), at('/e'), { overwrite: true });
    return { driver, store, go, replacing, removing: () => driver.remove(at('/e'), { recursive: false }) };
  };
  /** Asks for a change of the empty folder while a copy is about to have a name in it. @returns the storage below, when that has its name */
  const refusedWhileNamed = async (to: string, change: (opened: Awaited<ReturnType<typeof openHasty>>) => Promise<unknown>) => {
    const { promise: reading, resolve: read } = Promise.withResolvers<void>();
    const { promise: copying, resolve: copied } = Promise.withResolvers<void>();
    const opened = await openHasty({
      copy: async (_from, target) => {
        read();
        await copying;
        return put(opened.store, target, 'new');
      },
    });
    const named = opened.driver.copy(at('/d/file'), at(to), { overwrite: false });
    await reading;
    opened.go();
    await refuses('DIRECTORY_NOT_EMPTY', change(opened));
    copied();
    await named;
    return opened.store;
  };

  it.each(COMERS)('is waited for by %s into it, which is there afterwards', async (_what, come) => {
    const { driver, store, go, removing } = await openHasty();
    const removal = removing();
    const coming = come(driver);
    await Promise.race([coming, turns()]);
    go();
    await Promise.all([removal, coming]);
    expect(await namesIn(store, at('/e'))).toHaveLength(1);
  });

  it.each(COMERS)('in whose place another one is put is waited for by %s into it, which is there afterwards', async (_what, come) => {
    const { driver, store, go, replacing } = await openHasty();
    const replaced = replacing();
    await turns();
    const coming = come(driver);
    await Promise.race([coming, turns()]);
    go();
    await Promise.all([replaced, coming]);
    expect(await namesIn(store, at('/e'))).toHaveLength(2);
  });

  it('is not replaced while something gets a name in it', async () => {
    const store = await refusedWhileNamed('/e/other', ({ replacing }) => replacing());
    expect(await namesIn(store, at('/e'))).toEqual(['other']);
  });

  it('is waited for by a rename into it, which finds no folder then and leaves its file', async () => {
    const { driver, store, go, removing } = await openHasty();
    const removal = removing();
    const renamed = codeOf(driver.rename(at('/d/file'), at('/e/file'), { overwrite: false }));
    await Promise.race([renamed, turns()]);
    go();
    await removal;
    expect(await renamed).toBe('ENTRY_NOT_FOUND');
    expect(await textOf(store, '/d/file')).toBe('new');
  });

  it('is refused while something gets a name in it', async () => {
    const store = await refusedWhileNamed('/e/file', ({ removing }) => removing());
    expect(await textOf(store, '/e/file')).toBe('new');
  });

  it('holds up nobody who has left', async () => {
    const { driver, go, removing } = await openHasty();
    const removal = removing();
    const leaving = new AbortController();
    const made = codeOf(driver.makeDirectory(at('/e/folder'), { signal: leaving.signal }));
    const named = codeOf(driver.rename(at('/d/file'), at('/e/file'), { overwrite: false, signal: leaving.signal }));
    await turns();
    leaving.abort();
    expect(await Promise.all([made, named])).toEqual(['CANCELLED', 'CANCELLED']);
    go();
    await removal;
  });

  it.each(COMERS)(
    'that is asked for on and on keeps out nobody: one that comes after %s is refused, or not waited for',
    async (_what, come) => {
      const { driver, store, go, removing } = await openHasty({
        // It never ends, but for the first.
        remove: async (path: Parameters<Whole['remove']>[0]) => {
          removals.push(path);
          await (removals.length === 1 ? first.promise : new Promise(() => undefined));
          throw new AppError('DIRECTORY_NOT_EMPTY', 'not empty');
        },
      });
      const removals: MountPath[] = [];
      const first = Promise.withResolvers<void>();
      const removal = codeOf(removing());
      const coming = come(driver);
      await turns();
      await refuses('DIRECTORY_NOT_EMPTY', removing());
      void driver.remove(at('/e/deep'), { recursive: false }).catch(() => undefined);
      void driver.remove(at('/e/folder'), { recursive: false }).catch(() => undefined);
      first.resolve();
      expect(await removal).toBe('DIRECTORY_NOT_EMPTY');
      await coming;
      expect(await namesIn(store, at('/e'))).toHaveLength(1);
      go();
    },
  );

  it('by the look of a folder is refused where something else has got its name since', async () => {
    const { driver, store, go } = await openHasty();
    const onlyIf = await driver.stat(at('/e'));
    go();
    await driver.remove(at('/e'), { recursive: false });
    await put(driver, '/e', 'a file');
    await refuses('STALE_VERSION', driver.remove(at('/e'), { recursive: false, onlyIf }));
    expect(await textOf(store, '/e')).toBe('a file');
    await store.remove(at('/e'), { recursive: false });
    await driver.makeDirectory(at('/e'));
    await driver.remove(at('/e'), { recursive: false, onlyIf: await driver.stat(at('/e')) });
    expect(await namesIn(store, at('/'))).toEqual(['d']);
  });

  it('takes no notice of what is beside it, nor of its own name', async () => {
    const { driver, store, go, removing } = await openHasty();
    go();
    await Promise.all([driver.makeDirectory(at('/e')), driver.makeDirectory(at('/eve')), removing()]);
    expect(await namesIn(store, at('/'))).toContain('eve');
  });
});

describe('a folder that gets the name of a file that is being replaced', () => {
  /** A storage in which the name is free for a moment while a file is replaced. */
  const openFreeing = async () => {
    const store = (await memoryDriver.open('')) as Whole;
    const { promise: freed, resolve: free } = Promise.withResolvers<void>();
    const { promise: hold, resolve: go } = Promise.withResolvers<void>();
    const freeing: StorageDriver = Object.assign(Object.create(store) as Whole, {
      ...bound(store),
      write: async (...[file, content, options]: Parameters<Whole['write']>) => {
        if (file !== '/d/file') return store.write(file, content, options);
        const bytes = await Array.fromAsync(content);
        await store.remove(file, { recursive: false });
        free();
        await hold;
        return store.write(file, bytesOf(Buffer.concat(bytes).toString()), options);
      },
      openDraft: async (...[file]: Parameters<Whole['openDraft']>) => {
        await store.makeDirectory(parentPath(file));
        return {} as Draft;
      },
    });
    await put(store, '/d/file', 'before');
    await put(store, '/folder/inner', 'x');
    const driver = withLoneRemovals(freeing) as Whole;
    return { store, driver, freed, go, replacing: () => put(driver, '/d/file', 'new') };
  };

  it.each<[string, (driver: Whole) => Promise<unknown>]>([
    ['made', (driver) => driver.makeDirectory(at('/d/file'))],
    ['made for what is in it', (driver) => put(driver, '/d/file/in/below', 'x')],
    ['made above another', (driver) => driver.makeDirectory(at('/d/file/in'))],
    ['made for a draft', (driver) => driver.openDraft(at('/d/file/in'), 'id', { create: true })],
    ['moved to it', (driver) => driver.rename(at('/folder'), at('/d/file'), { overwrite: false, isTree: true })],
    ['copied to it', (driver) => driver.copy(at('/folder'), at('/d/file'), { overwrite: false, isTree: true })],
  ])('waits until that has its name: %s', async (_what, make) => {
    const { store, driver, freed, go, replacing } = await openFreeing();
    const replaced = replacing();
    await freed;
    const made = make(driver).then(
      () => 'made',
      () => 'refused',
    );
    await turns();
    go();
    await replaced;
    expect([await made, await textOf(store, '/d/file')]).toEqual(['refused', 'new']);
  });

  it('is waited for by the new name of a folder above', async () => {
    const { store, driver, freed, go, replacing } = await openFreeing();
    const replaced = replacing();
    await freed;
    const renamed = driver.rename(at('/d'), at('/e'), { overwrite: false });
    await turns();
    go();
    await Promise.all([replaced, renamed]);
    expect(await textOf(store, '/e/file')).toBe('new');
  });

  it.each([
    ['rename', undefined, 'IS_A_DIRECTORY'],
    // It may take hours.
    ['copy', 'written', 'written'],
  ] as const)('is waited for by a file where it gets it by a %s, but for no hours: %s', async (operation, first, last) => {
    const store = (await memoryDriver.open('')) as Whole;
    await put(store, '/folder/inner', 'x');
    const { promise: hold, resolve: go } = Promise.withResolvers<void>();
    const slow: StorageDriver = Object.assign(Object.create(store) as Whole, {
      ...bound(store),
      [operation]: async (...given: Parameters<Whole['rename']>) => {
        await hold;
        return store[operation](...given);
      },
    });
    const driver = withLoneRemovals(slow) as Whole;
    const placed = driver[operation](at('/folder'), at('/d'), { overwrite: false, isTree: true }).catch(() => undefined);
    await turns();
    const codeOrWritten = (error?: unknown) => (error === undefined ? 'written' : AppError.from(error).code);
    const written = put(driver, '/d', 'x').then(() => 'written', codeOrWritten);
    expect(await Promise.race([written, turns()])).toBe(first);
    go();
    await placed;
    expect(await written).toBe(last);
  });

  it('waits for a server that takes long for seconds alone, and is not made then, but by a task', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { store, driver, freed, go, replacing } = await openFreeing();
    const replaced = replacing();
    await freed;
    const below = [driver.makeDirectory(at('/d/file/in')), put(driver, '/d/file/below', 'x')].map((each) => codeOf(each));
    const byTask = codeOf(driver.makeDirectory(at('/d/file'), { isPatient: true }));
    await turns();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(below)).toEqual(['OVERLOADED', 'OVERLOADED']);
    // Whoever comes then has no turn of the storage for it.
    expect(await Promise.race([codeOf(driver.makeDirectory(at('/d/file'))), turns()])).toBe('OVERLOADED');
    expect(await Promise.race([byTask, turns()])).toBeUndefined();
    go();
    await replaced;
    expect([await byTask, await textOf(store, '/d/file')]).toEqual(['ENTRY_EXISTS', 'new']);
  });

  it('is waited for by a file of its name where it is there with the first file in it', async () => {
    const store = (await memoryDriver.open('')) as Whole;
    const { promise: hold, resolve: go } = Promise.withResolvers<void>();
    const slow: StorageDriver = Object.assign(Object.create(store) as Whole, {
      ...bound(store),
      write: async (...[file, content, options]: Parameters<Whole['write']>) => {
        const bytes = await Array.fromAsync(content);
        if (file === '/x/y') await hold;
        return store.write(file, bytesOf(Buffer.concat(bytes).toString()), options);
      },
    });
    const driver = withLoneRemovals(slow) as Whole;
    const inside = put(driver, '/x/y', 'inside');
    await turns();
    const written = codeOf(put(driver, '/x', 'new'));
    expect(await Promise.race([written, turns()])).toBeUndefined();
    go();
    await inside;
    expect([await written, await textOf(store, '/x/y')]).toEqual(['IS_A_DIRECTORY', 'inside']);
  });

  it('waits for no content that does not end, though all of its bytes have come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { driver } = await openFreeing();
    const { content, end } = held('new');
    const written = codeOf(driver.write(at('/d/other'), content, { overwrite: true, sizeBytes: 3 }));
    await turns();
    const made = driver.makeDirectory(at('/d/other/in'));
    await turns();
    await vi.advanceTimersByTimeAsync(5_000);
    await made;
    await driver.makeDirectory(at('/d/other/at once'));
    end();
    expect(await written).toBe('IS_A_DIRECTORY');
  });

  it.each<[string, (driver: Whole, options: { afterWaiting: () => Promise<void> }) => Promise<unknown>]>([
    ['made', (driver, options) => driver.makeDirectory(at('/d/other/in'), options)],
    ['made for a draft', (driver, options) => driver.openDraft(at('/d/other/in'), 'id', { create: true, ...options })],
    ['moved', (driver, options) => driver.rename(at('/d'), at('/e'), { overwrite: false, isTree: true, ...options })],
  ])('is asked for once more where it has waited for long: %s', async (_what, make) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { store, driver } = await openFreeing();
    const { content, end } = held('new');
    const written = driver.write(at('/d/other'), content, { overwrite: true, sizeBytes: 3 });
    await turns();
    const made = codeOf(make(driver, { afterWaiting: () => Promise.reject(new AppError('PERMISSION_DENIED', 'not any more')) }));
    await turns();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await made).toBe('PERMISSION_DENIED');
    end();
    await written;
    expect([await namesIn(store, at('/')), await namesIn(store, at('/d'))]).toEqual([
      ['d', 'folder'],
      ['file', 'other'],
    ]);
  });

  it('is waited for no longer than for a moment where its upload stands in line', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = (await memoryDriver.open('')) as Whole;
    const { promise: hold, resolve: go } = Promise.withResolvers<void>();
    const inLine: StorageDriver = Object.assign(Object.create(store) as Whole, {
      ...bound(store),
      write: async (...[file, content, options]: Parameters<Whole['write']>) => {
        if (file === '/d/file/in') await hold;
        return store.write(file, content, options);
      },
    });
    const driver = withLoneRemovals(inLine) as Whole;
    const waiting = codeOf(put(driver, '/d/file/in', 'x'));
    await turns();
    const written = put(driver, '/d/file', 'new');
    expect(await Promise.race([written, turns()])).toBe(undefined);
    await vi.advanceTimersByTimeAsync(5_000);
    await written;
    go();
    expect([await waiting, await textOf(store, '/d/file')]).toEqual(['NOT_A_DIRECTORY', 'new']);
  });

  it('is waited for where it came before, and waits for no content that comes for long', async () => {
    const { store, driver, go } = await openFreeing();
    const { content, end } = held('new');
    const written = driver.write(at('/d/other'), content, { overwrite: true }).catch((error) => AppError.from(error).code);
    await turns();
    await driver.makeDirectory(at('/d/other'));
    end();
    go();
    expect([await written, (await store.stat(at('/d/other'))).isDirectory]).toEqual(['IS_A_DIRECTORY', true]);
  });
});

describe('a removal that holds for one state of a file', () => {
  it.each(NAMINGS)('is waited for by %s, which is there afterwards', async (_what, name) => {
    const { driver, store, go, removing } = await openSlow();
    await put(store, '/other', 'new');
    const removal = removing();
    const named = name(driver);
    await Promise.race([named, turns()]);
    go();
    await Promise.all([removal, named]);
    expect(await textOf(store, '/d/file')).toBe('new');
  });

  it('is waited for by a folder that gets the name of the one that the file is in', async () => {
    const { driver, store, go, removing } = await openSlow();
    await put(store, '/e/file', 'new');
    const removal = removing();
    const renamed = driver.rename(at('/e'), at('/d'), { overwrite: true });
    go();
    await Promise.all([removal, renamed]);
    expect(await textOf(store, '/d/file')).toBe('new');
  });

  it('is refused while something gets the name, from the end of its content on', async () => {
    const { driver, store, go, asked, removing } = await openSlow();
    const { promise: asking, resolve: answer } = Promise.withResolvers<void>();
    const { promise: publishing, resolve: isPublishing } = Promise.withResolvers<void>();
    const beforePublish = async () => {
      isPublishing();
      await asking;
    };
    const { content, end } = held('new');
    const written = driver.write(at('/d/file'), content, { overwrite: true, beforePublish });
    end();
    await publishing;
    expect(await codeOf(removing())).toBe('STALE_VERSION');
    expect(asked).toEqual([]);
    answer();
    await written;
    expect(await textOf(store, '/d/file')).toBe('new');
    go();
  });

  it('does not wait for a content that has not ended', async () => {
    const { driver, store, go, removing } = await openSlow();
    const { content, end } = held('new');
    const written = driver.write(at('/d/file'), content, { overwrite: true });
    go();
    await removing();
    await refuses('ENTRY_NOT_FOUND', store.stat(at('/d/file')));
    end();
    await written;
    expect(await textOf(store, '/d/file')).toBe('new');
  });

  it('goes on after writes that failed, before and after their content ended', async () => {
    const { driver, store, go } = await openSlow();
    const refusal = new AppError('FAILED_PRECONDITION', 'no');
    const failing = (async function* () {
      yield Buffer.from('new');
      throw refusal;
    })();
    await expect(driver.write(at('/d/file'), failing, { overwrite: true })).rejects.toBe(refusal);
    const { content, end } = held('new');
    end();
    const beforePublish = () => Promise.reject(refusal);
    await expect(driver.write(at('/d/file'), content, { overwrite: true, beforePublish })).rejects.toBe(refusal);
    go();
    await driver.remove(at('/d/file'), { recursive: false, onlyIf: await driver.stat(at('/d/file')) });
    await refuses('ENTRY_NOT_FOUND', store.stat(at('/d/file')));
  });

  it.each([
    ['this machine', undefined],
    ['a network', { names: 2, reads: 2, writes: 2 }],
  ] as const)('comes to the driver with all that is around one of %s', async (_where, limits) => {
    const { go, asked, before, removing } = await openSlow((driver) => decorate(driver, limits));
    go();
    await removing();
    expect(asked).toMatchObject([{ recursive: false, onlyIf: before }]);
  });
});

it('a removal of what got its name since the look is refused, though it looks the same', async () => {
  const { driver, store, before, removing } = await openSlow();
  await put(driver, '/d/file', 'beforf', { modifiedAt: before.modifiedAt });
  expect(await codeOf(removing())).toBe('STALE_VERSION');
  expect(await textOf(store, '/d/file')).toBe('beforf');
});

/** A storage that knows how much there is: it has the file once it has so many bytes, and does not ask for the end of the content. */
function withoutAskingForTheEnd(slow: StorageDriver): StorageDriver {
  return Object.assign(Object.create(slow) as Whole, slow, {
    write: async (file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions) => {
      const pieces: Uint8Array[] = [];
      let left = options.sizeBytes ?? 0;
      if (left > 0)
        for await (const piece of content) {
          pieces.push(piece);
          left -= piece.byteLength;
          if (left <= 0) break;
        }
      return put(slow as Whole, file, Buffer.concat(pieces).toString(), options);
    },
  });
}

it.each(['new', ''])(
  'is waited for by a write of known size into a storage that does not ask for the end of its content: %j',
  async (text) => {
    const { driver, store, go, removing } = await openSlow((slow) => withLoneRemovals(withoutAskingForTheEnd(slow)));
    const removal = removing();
    const pieces = (async function* () {
      for (const letter of text) yield Buffer.from(letter);
      // The sender is still there.
      await new Promise(() => undefined);
    })();
    const write = driver.write(at('/d/file'), pieces, { overwrite: true, sizeBytes: text.length });
    await Promise.race([write, turns()]);
    go();
    await Promise.all([removal, write]);
    expect(await textOf(store, '/d/file')).toBe(text);
  },
);

it('is waited for through another driver of the same storage, and what got its name through one since the look makes it late through the other', async () => {
  const names = new LoneNames();
  const { driver, store, before, go, removing } = await openSlow((slow) => withLoneRemovals(slow, names));
  const other = withLoneRemovals(store, names) as Whole;
  const removal = removing();
  const write = put(other, '/d/file', 'new');
  await Promise.race([write, turns()]);
  go();
  await Promise.all([removal, write]);
  expect(await textOf(store, '/d/file')).toBe('new');
  const look = await driver.stat(at('/d/file'));
  await put(driver, '/d/file', 'now', { modifiedAt: look.modifiedAt });
  for (const onlyIf of [before, look])
    expect(await codeOf(other.remove(at('/d/file'), { recursive: false, onlyIf }))).toBe('STALE_VERSION');
});

it('so is one of what got its name from a storage that did not ask for the end of its content', async () => {
  const { driver, store, before, removing } = await openSlow((slow) => withLoneRemovals(withoutAskingForTheEnd(slow)));
  await driver.write(at('/d/file'), held('beforf').content, { overwrite: true, modifiedAt: before.modifiedAt, sizeBytes: 6 });
  expect(await codeOf(removing())).toBe('STALE_VERSION');
  expect(await textOf(store, '/d/file')).toBe('beforf');
});

it('what got its name is remembered for all storages together, and a look from before what was forgotten counts as late (C18)', async () => {
  const { driver, go, before: look, removing } = await openSlow();
  await put(driver, '/d/file', 'beforf', { modifiedAt: look.modifiedAt });
  const store = (await memoryDriver.open('')) as Whole;
  const unwritten = Object.assign(Object.create(store) as Whole, bound(store), { write: async () => undefined as unknown as Entry });
  const others = Array.from({ length: 30 }, () => withLoneRemovals(unwritten) as Whole);
  const content = async function* () {};
  const before = usedBytes();
  for (const other of others)
    for (let file = 0; file < 1_000; file += 1)
      await other.write(at(Buffer.from(`${`/${'f'.repeat(250)}`.repeat(4)}/${file}`).toString()), content(), { overwrite: true });
  // Their paths have 30 MB.
  expect(usedBytes() - before).toBeLessThan(20_000_000);
  expect(others).toHaveLength(30);
  expect(await codeOf(removing())).toBe('STALE_VERSION');
  const after = await driver.stat(at('/d/file'));
  go();
  await driver.remove(at('/d/file'), { recursive: false, onlyIf: after });
});

const ANYHOW = { write_conflict_policy: 'first', put_conflict_policy: 'first' };
const PLAIN_NAMES = {
  filename_encryption: 'off',
  directory_name_encryption: 'false',
  filename_encoding: 'base64',
  encrypted_suffix: '.bin',
};

it.each([
  ['Alias', aliasDriver, '/file', { paths: '/below', ...ANYHOW }],
  ['an Alias of two folders', aliasDriver, '/x/file', { paths: 'x:/below\ny:/below', ...ANYHOW }],
  ['Crypt', cryptDriver, '/file', { remote_path: '/below', password: 'secret', ...PLAIN_NAMES }],
])('and one by %s of what was stored by another way to its folder', async (_what, definition, path, items) => {
  const below = withLoneRemovals((await memoryDriver.open('')) as Whole) as Whole;
  const driver = withLoneRemovals(await definition.open(JSON.stringify(items), { openMount: async () => below })) as Whole;
  await put(driver, path, 'before');
  const [kept] = await namesIn(below, '/');
  const { sizeBytes = 0 } = await below.stat(at(`/${kept}`));
  const look = await driver.stat(at(path));
  await put(below, `/${kept}`, Buffer.alloc(sizeBytes), { modifiedAt: look.modifiedAt });
  expect(await codeOf(driver.remove(at(path), { recursive: false, onlyIf: look }))).toBe('STALE_VERSION');
});

it('a removal does not read a deep path once for each folder above, where nothing is about to get a name', async () => {
  const { driver, before, go } = await openSlow();
  go();
  const readLetters = (segments: number) => {
    const path = at(`${'/d'.repeat(segments)}/file`);
    const has = vi.spyOn(Map.prototype, 'has');
    try {
      void driver.remove(path, { recursive: false, onlyIf: before }).catch(() => undefined);
      return has.mock.calls.reduce((sum, [key]) => sum + String(key).length, 0);
    } finally {
      has.mockRestore();
    }
  };
  expect(readLetters(1_000)).toBeLessThan(10_000);
});
