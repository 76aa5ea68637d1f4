import { AppError } from '@wharf/errors';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { copyFile } from '../domain/changing/copy-file.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { at, put, textOf } from './conformance/driver-calls.ts';
import { createLane } from './lane.ts';
import type { Draft, StorageDriver } from './storage-driver.ts';
import { withDeadline } from './with-deadline.ts';
import { withLimits } from './with-limits.ts';

const isOverloaded = (error: unknown) => AppError.is(error, 'OVERLOADED');
const ONE = { names: 1, reads: 1, writes: 1 };
const SOON_MS = 10;

async function limited(change: (driver: StorageDriver) => void = () => undefined) {
  const driver = await memoryDriver.open('');
  await put(driver as Required<StorageDriver>, '/file', 'content');
  change(driver);
  return withLimits(driver, ONE, SOON_MS) as Required<StorageDriver>;
}

it.each<[string, (driver: Required<StorageDriver>, afterWaiting: () => Promise<void>) => Promise<unknown>]>([
  ['makeDirectory', (driver, afterWaiting) => driver.makeDirectory(at('/new'), { afterWaiting })],
  ['remove', (driver, afterWaiting) => driver.remove(at('/file'), { recursive: true, afterWaiting })],
  ['rename', (driver, afterWaiting) => driver.rename(at('/file'), at('/new'), { overwrite: false, afterWaiting })],
  ['copy', (driver, afterWaiting) => driver.copy(at('/file'), at('/new'), { overwrite: false, afterWaiting })],
])('%s that comes to its turn late is made only if that is still wanted', async (_call, change) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const held = Promise.withResolvers<void>();
  const driver = await memoryDriver.open('');
  await put(driver as Required<StorageDriver>, '/file', 'content');
  const { write } = operationsOf(driver);
  if (!write) throw new Error('it stores files');
  const slow = decorated({
    ...operationsOf(driver),
    stat: (...given) => held.promise.then(() => driver.stat(...given)),
    write: (...given) => held.promise.then(() => write(...given)),
  });
  const store = withLimits(slow, ONE) as Required<StorageDriver>;
  const before = [store.stat(at('/file')), put(store, '/other', 'of another')];
  const refusal = expect(change(store, () => Promise.reject(new AppError('UNAUTHENTICATED', 'it ended')))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  vi.advanceTimersByTime(2_000);
  held.resolve();
  await Promise.all([...before, refusal]);
  expect([await textOf(store, '/file'), await store.stat(at('/new')).catch((error) => error.code)]).toEqual(['content', 'ENTRY_NOT_FOUND']);
});

describe('a lane', () => {
  it('is taken in turn, and a place that is left goes to who waits longest', async () => {
    const lane = createLane({ size: 2, share: 2 });
    const order: string[] = [];
    const [first, second] = [await lane.enter(undefined), await lane.enter(undefined)];
    const waiting = ['third', 'fourth'].map(async (name) => {
      const leave = await lane.enter(undefined);
      order.push(name);
      leave();
    });
    expect(order).toEqual([]);
    first();
    first();
    await Promise.all(waiting);
    expect(order).toEqual(['third', 'fourth']);
    second();
    await Promise.all([lane.enter(undefined), lane.enter(undefined)]);
  });

  it('has no more than a share of its places for one caller, whoever waits before others', async () => {
    const lane = createLane({ size: 4, share: 2 });
    const hog = [await lane.enter({ caller: 'hog' }), await lane.enter({ caller: 'hog' })];
    let isThird = false;
    const third = lane.enter({ caller: 'hog' }).then((leave) => {
      isThird = true;
      return leave;
    });
    const [one, own] = [await lane.enter({ caller: 'other' }), await lane.enter(undefined)];
    const next = lane.enter({ caller: 'other' });
    one();
    await next;
    expect(isThird).toBe(false);
    own();
    hog[0]?.();
    await third;
  });

  it('is given to callers by turns, however many calls of others came before', async () => {
    const lane = createLane({ size: 2, share: 1 });
    const order: string[] = [];
    const calls = ['one', 'one', 'one', 'other', 'other', 'other', 'late', 'late'].map((caller) =>
      lane.run({ caller }, async () => {
        order.push(caller);
        await Promise.resolve();
      }),
    );
    await Promise.all(calls);
    expect(order).toEqual(['one', 'other', 'one', 'other', 'late', 'one', 'other', 'late']);
  });

  it('keeps a quarter from those who are patient, who wait for as long as it takes', async () => {
    const lane = createLane({ size: 8, share: 4, waitMs: SOON_MS });
    const order: number[] = [];
    const patient = Array.from({ length: 8 }, async (_, index) => {
      const leave = await lane.enter({ isPatient: true });
      order.push(index);
      return leave;
    });
    const others = [await lane.enter({ caller: 'one' }), await lane.enter({ caller: 'other' })];
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    await expect(lane.enter(undefined)).rejects.toSatisfy(isOverloaded);
    for (const leave of others) leave();
    expect(order).toHaveLength(6);
    (await patient[0])?.();
    (await patient[6])?.();
    await patient[7];
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('is left by who is aborted while waiting, and by who waits too long', async () => {
    const lane = createLane({ size: 1, share: 1, waitMs: SOON_MS });
    const leave = await lane.enter(undefined);
    const abort = new AbortController();
    const aborted = lane.enter({ signal: abort.signal });
    abort.abort();
    await expect(aborted).rejects.toSatisfy((error) => AppError.is(error, 'CANCELLED'));
    await expect(lane.enter(undefined)).rejects.toSatisfy(isOverloaded);
    leave();
    await lane.run(undefined, async () => undefined);
  });
});

describe('the lanes of a storage', () => {
  it('a download that stands still holds up downloads, but neither names nor uploads', async () => {
    const driver = await limited();
    const abort = new AbortController();
    const standing = (await driver.read(at('/file'), undefined, { signal: abort.signal }))[Symbol.asyncIterator]();
    await standing.next();
    await expect(driver.read(at('/file'))).rejects.toSatisfy(isOverloaded);
    expect((await driver.stat(at('/file'))).sizeBytes).toBe(7);
    await put(driver, '/other', 'x');
    abort.abort();
    expect(await textOf(driver, '/other')).toBe('x');
  });

  it('a read that ended, failed, was left early or aborted without being begun gives its place back', async () => {
    const driver = await limited();
    expect(await textOf(driver, '/file')).toBe('content');
    await expect(driver.read(at('/none'))).rejects.toSatisfy((error) => AppError.is(error, 'ENTRY_NOT_FOUND'));
    for await (const _ of await driver.read(at('/file'))) break;
    const abort = new AbortController();
    await driver.read(at('/file'), undefined, { signal: abort.signal });
    abort.abort();
    expect(await textOf(driver, '/file')).toBe('content');
  });

  it('a file is copied inside the storage by reading and writing', async () => {
    const driver = await limited();
    await driver.write(at('/copy'), await driver.read(at('/file')), { overwrite: false });
    expect(await textOf(driver, '/copy')).toBe('content');
  });

  it('whoever lists may ask the storage at each entry', async () => {
    const driver = await limited();
    for await (const entry of driver.list(MOUNT_ROOT)) expect(await driver.stat(at(`/${entry.name}`))).toEqual(entry);
  });

  it('the ranges of drafts are in the lane of what is written', async () => {
    const never = Promise.withResolvers<number>();
    const driver = await limited((plain) => {
      plain.openDraft = async () => ({ write: () => never.promise, sizeBytes: async () => 0 }) as object as Draft;
    });
    const draft = await driver.openDraft(at('/new'), '0'.repeat(32), { create: true });
    const writing = draft.write(0, (async function* () {})());
    await expect(put(driver, '/other', 'x')).rejects.toSatisfy(isOverloaded);
    expect(await draft.sizeBytes()).toBe(0);
    never.resolve(3);
    expect(await writing).toBe(3);
    await put(driver, '/other', 'x');
  });

  it('folders that are removed for hours leave half of the turns for names to others; tasks wait for theirs, and callers for a moment', async () => {
    const hours = Promise.withResolvers<void>();
    const begun: string[] = [];
    const store = await memoryDriver.open('');
    await put(store as Required<StorageDriver>, '/file', 'content');
    for (const folder of ['/a', '/b', '/c', '/d', '/e']) await put(store as Required<StorageDriver>, `${folder}/file`, '');
    await put(store as Required<StorageDriver>, '/alone', '');
    const remove = operationsOf(store).remove;
    store.remove = async (path, options) => {
      if (!options.recursive || options.isSmall) return remove?.(path, options);
      begun.push(path);
      await hours.promise;
    };
    const driver = withLimits(store, { names: 4, reads: 1, writes: 1 }, SOON_MS) as Required<StorageDriver>;
    const removeAll = (path: string, caller: string, isPatient?: true) => driver.remove(at(path), { recursive: true, caller, isPatient });
    const tasks = ['/a', '/b', '/c'].map((path) => removeAll(path, 'hog', true));
    const other = removeAll('/d', 'other');
    await expect(removeAll('/e', 'other')).rejects.toSatisfy(isOverloaded);
    // Nor is somebody who waits taken for a task behind another storage, which asks before each step for its own sake.
    const behind = withDeadline(driver, { callMs: 60_000, stallMs: 60_000, treeMs: 60_000, commitMs: 60_000 });
    await expect(behind.remove?.(at('/e'), { recursive: true, caller: 'other' })).rejects.toSatisfy(isOverloaded);
    expect(begun).toEqual(['/a', '/d']);
    // Neither a file nor what was counted waits for those.
    await removeAll('/alone', 'other');
    await driver.remove(at('/e'), { recursive: true, isSmall: true, caller: 'hog' });
    for (const path of ['/alone', '/e'])
      await expect(driver.stat(at(path))).rejects.toSatisfy((error) => AppError.is(error, 'ENTRY_NOT_FOUND'));
    for (let turn = 0; turn < 2; turn += 1) expect((await driver.stat(at('/file'))).sizeBytes).toBe(7);
    hours.resolve();
    await Promise.all([...tasks, other]);
    expect(begun).toEqual(['/a', '/d', '/b', '/c']);
  });

  it.each([
    ['moved', 'rename'],
    ['copied', 'copy'],
  ] as const)('folders that are %s for minutes leave turns to others, whoever moves or copies them', async (_what, operation) => {
    const minutes = Promise.withResolvers<never>();
    const begun: string[] = [];
    const store = (await memoryDriver.open('')) as Required<StorageDriver>;
    for (const path of ['/a/file', '/b/file', '/c/file', '/d/file', '/file']) await put(store, path, '');
    const act = store[operation].bind(store);
    store[operation] = async (from, to, options) => {
      if (!options.isTree) return act(from, to, options);
      begun.push(from);
      return minutes.promise;
    };
    const driver = withLimits(store, { names: 8, reads: 1, writes: 4 }, SOON_MS) as Required<StorageDriver>;
    const place = (path: string, caller: string, isTree?: true) =>
      driver[operation](at(path), at(`${path}-new`), { overwrite: false, caller, isTree });
    const placing = ['/a', '/b', '/c', '/d'].map((path, index) => place(path, index < 2 ? 'one' : 'other', true));
    expect(await Promise.all([placing[1], placing[3]].map((each) => each?.catch(AppError.from)))).toMatchObject([
      { code: 'OVERLOADED' },
      { code: 'OVERLOADED' },
    ]);
    expect(begun).toEqual(['/a', '/c']);
    // Looks, listings, uploads and what is no folder go on, and so does the removal of folders.
    expect(await driver.stat(at('/a'))).toMatchObject({ isDirectory: true });
    await put(driver, '/upload', 'x');
    await place('/file', 'one');
    await driver.remove(at('/d'), { recursive: true, caller: 'one' });
    minutes.reject(new AppError('CANCELLED', 'over'));
    for (const each of [placing[0], placing[2]]) await expect(each).rejects.toSatisfy((error) => AppError.is(error, 'CANCELLED'));
    expect(await driver.stat(at('/upload'))).toMatchObject({ sizeBytes: 1 });
  });

  it('copies by tasks leave turns for uploads, however many there are, and wait for theirs', async () => {
    const hours = Promise.withResolvers<void>();
    const store = (await memoryDriver.open('')) as Required<StorageDriver>;
    await put(store, '/file', 'content');
    const [write, begun] = [store.write.bind(store), [] as string[]];
    store.write = async (file, content, options) => {
      begun.push(file);
      if (file.startsWith('/copy')) await hours.promise;
      return write(file, content, options);
    };
    const { copy: _, ...plain } = operationsOf(store);
    const limits = { names: 8, reads: 8, writes: 4 };
    const driver = withLimits(decorated({ ...plain, copy: undefined }), limits, SOON_MS) as Required<StorageDriver>;
    const [from, signal] = [{ driver, path: at('/file') }, new AbortController().signal];
    const copies = Array.from({ length: 5 }, (_each, index) =>
      copyFile({ from, to: { driver, path: at(`/copy-${index}`) }, overwrite: false, signal, isPatient: true }),
    );
    await expect.poll(() => begun).toHaveLength(3);
    await put(driver, '/upload', 'x');
    hours.resolve();
    await Promise.all(copies);
    expect(begun).toHaveLength(6);
  });
});
