import { AppError } from '@wharf/errors';
import { type EntryName, MOUNT_ROOT, type MountPath, parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { expect, it, onTestFinished, vi } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { type CallOptions, type Draft, type StorageDriver, supports } from './storage-driver.ts';
import { withDeadline } from './with-deadline.ts';

const LIMITS = { callMs: 20, stallMs: 20, treeMs: 20, commitMs: 20 };
const file = relativeTo(VIRTUAL_ROOT, parseVirtualPath('/file'));

/** A storage whose named operations never answer, whatever their signal says. */
async function hangingDriver(...operations: (keyof StorageDriver)[]): Promise<StorageDriver> {
  const driver = await memoryDriver.open('');
  const never = () => new Promise<never>(() => undefined);
  for (const operation of operations) Object.defineProperty(driver, operation, { value: never });
  return driver;
}

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

function isLate(error: unknown): boolean {
  return AppError.is(error, 'DEADLINE_EXCEEDED');
}

it('a call that never answers ends, for every operation', async () => {
  const all = ['stat', 'read', 'write', 'makeDirectory', 'remove', 'rename', 'copy', 'listNames', 'statMany'] as const;
  const driver = withDeadline(await hangingDriver(...all), LIMITS);
  for (const operation of ['write', 'makeDirectory', 'remove', 'rename', 'copy', 'listNames', 'statMany'] as const) {
    if (!supports(driver, operation)) throw new Error(`${operation} is missing`);
  }
  await expect(driver.stat(MOUNT_ROOT)).rejects.toSatisfy(isLate);
  await expect(driver.read(file)).rejects.toSatisfy(isLate);
  await expect(driver.write?.(file, chunks('x'), { overwrite: true })).rejects.toSatisfy(isLate);
  await expect(driver.makeDirectory?.(file)).rejects.toSatisfy(isLate);
  await expect(driver.remove?.(file, { recursive: true })).rejects.toSatisfy(isLate);
  await expect(driver.rename?.(file, file, { overwrite: true })).rejects.toSatisfy(isLate);
  await expect(driver.copy?.(file, file, { overwrite: true })).rejects.toSatisfy(isLate);
  await expect(driver.listNames?.(MOUNT_ROOT, undefined)).rejects.toSatisfy(isLate);
  await expect(driver.statMany?.(MOUNT_ROOT, [])).rejects.toSatisfy(isLate);
});

it('a draft whose storage stands still ends', async () => {
  const never = () => new Promise<never>(() => undefined);
  const driver = await memoryDriver.open('');
  const stuck = { partBytes: 1, write: never, sync: never, sizeBytes: never, read: never, publish: never, discard: never, close: never };
  driver.openDraft = async () => ({ ...stuck, read: hangingSteps }) as Draft;
  const draft = await withDeadline(driver, LIMITS).openDraft?.(file, '0'.repeat(32), { create: true });
  if (!draft) throw new Error('there are no drafts');
  await expect(draft.write(0, chunks('x'))).rejects.toSatisfy(isLate);
  await expect(draft.sync()).rejects.toSatisfy(isLate);
  await expect(draft.sizeBytes()).rejects.toSatisfy(isLate);
  await expect(Array.fromAsync(draft.read())).rejects.toSatisfy(isLate);
  await expect(draft.publish({ overwrite: true })).rejects.toSatisfy(isLate);
  await expect(draft.discard()).rejects.toSatisfy(isLate);
  await expect(draft.close()).rejects.toSatisfy(isLate);
});

async function* hangingSteps(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from('x');
  await new Promise(() => undefined);
}

it('a listing and a file that stop midway end', async () => {
  const driver = await memoryDriver.open('');
  const entry = await driver.stat(MOUNT_ROOT);
  const stuck = async function* <Item>(item: Item) {
    yield item;
    await new Promise(() => undefined);
  };
  driver.list = () => stuck(entry);
  driver.read = async () => ({ entry, [Symbol.asyncIterator]: () => stuck(Buffer.from('x')) });
  const guarded = withDeadline(driver, LIMITS);
  await expect(Array.fromAsync(guarded.list(MOUNT_ROOT))).rejects.toSatisfy(isLate);
  await expect(Array.fromAsync(await guarded.read(file))).rejects.toSatisfy(isLate);
});

it('a hanging call ends at once when its caller aborts', async () => {
  const driver = withDeadline(await hangingDriver('stat'), { callMs: 60_000, stallMs: 60_000, treeMs: 60_000, commitMs: 60_000 });
  const abort = new AbortController();
  const call = driver.stat(MOUNT_ROOT, { signal: abort.signal });
  abort.abort();
  await expect(call).rejects.toSatisfy((error) => AppError.is(error, 'CANCELLED'));
});

it('a source that is slower than the limit is not the fault of the storage', async () => {
  const driver = withDeadline(await memoryDriver.open(''), { callMs: 20, stallMs: 20, treeMs: 20, commitMs: 20 });
  const slow = (async function* () {
    for (const text of ['a', 'b']) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      yield Buffer.from(text);
    }
  })();
  expect(await driver.write?.(file, slow, { overwrite: true })).toMatchObject({ sizeBytes: 2 });
});

it('a storage that stops taking content ends the write', async () => {
  const driver = await memoryDriver.open('');
  driver.write = async (_file: MountPath, content: AsyncIterable<Uint8Array>) => {
    for await (const _chunk of content) await new Promise(() => undefined);
    return driver.stat(MOUNT_ROOT);
  };
  await expect(withDeadline(driver, LIMITS).write?.(file, chunks('a', 'b'), { overwrite: true })).rejects.toSatisfy(isLate);
});

it('an operation that is absent stays absent', async () => {
  const guarded = withDeadline(await memoryDriver.open(''), LIMITS);
  expect(supports(guarded, 'space')).toBe(false);
  expect(supports(guarded, 'copy')).toBe(true);
});

it('a storage that holds content back stands still only while it takes nothing of it', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const driver = await memoryDriver.open('');
  const taken = Promise.withResolvers<() => void>();
  driver.write = async (_file, _content, { onProgress = () => expect.fail('nothing is to be told') }) => {
    taken.resolve(onProgress);
    return new Promise<never>(() => undefined);
  };
  const writing = withDeadline(driver, { ...LIMITS, stallMs: 1_000 }).write?.(file, chunks('x'), { overwrite: true });
  const outcome = expect(writing).rejects.toSatisfy(isLate);
  let isEnded = false;
  void outcome.then(() => {
    isEnded = true;
  });
  const tell = await taken.promise;
  for (let round = 0; round < 5; round += 1) {
    await vi.advanceTimersByTimeAsync(900);
    expect(isEnded).toBe(false);
    tell();
  }
  await vi.advanceTimersByTimeAsync(1_001);
  await outcome;
});

it('a write whose caller leaves while the file gets its name ends with what became of it', async () => {
  const driver = await memoryDriver.open('');
  const [ended, named] = [Promise.withResolvers<AbortSignal | undefined>(), Promise.withResolvers<void>()];
  driver.write = async (_file, content, { signal }) => {
    for await (const _ of content);
    ended.resolve(signal);
    await named.promise;
    return driver.stat(MOUNT_ROOT);
  };
  const abort = new AbortController();
  const patient = { callMs: 60_000, stallMs: 60_000, commitMs: 60_000, treeMs: 60_000 };
  const writing = withDeadline(driver, patient).write?.(file, chunks('x'), { overwrite: true, signal: abort.signal });
  const signal = await ended.promise;
  abort.abort();
  expect(signal?.aborted).toBe(true);
  named.resolve();
  expect(await writing).toMatchObject({ isDirectory: true });
});

it('a listing that waits for nothing leaves room for others, and ends with its caller', async () => {
  const driver = await memoryDriver.open('');
  const entry = { name: 'a' as EntryName, isDirectory: false, sizeBytes: 0, modifiedAt: new Date(0) };
  driver.list = async function* () {
    for (let index = 0; index < 1_000_000; index += 1) yield entry;
  };
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  const list = async () => {
    for await (const _ of withDeadline(driver, { ...LIMITS, stallMs: 30_000 }).list(MOUNT_ROOT, { signal: gone.signal }));
  };
  await expect(list()).rejects.toMatchObject({ code: 'CANCELLED' });
});

it('tells the storage for whom each call is, and who waits for it', async () => {
  const told: unknown[] = [];
  const note = async (...given: readonly unknown[]) => void told.push(given.at(-1));
  const plain = await memoryDriver.open('');
  const noting = { stat: note, makeDirectory: note, listNames: note, statMany: note, space: note } as object;
  const patient = { callMs: 60_000, stallMs: 60_000, treeMs: 60_000, commitMs: 60_000 };
  const guarded = withDeadline(decorated({ ...operationsOf(plain), ...noting }), patient);
  const call = { caller: 'user 7', isPatient: true } as const;
  await guarded.stat(file, call);
  await guarded.makeDirectory?.(file, call);
  await guarded.listNames?.(file, undefined, call);
  await guarded.statMany?.(file, [], call);
  await guarded.space?.(call);
  expect(told).toEqual(Array.from({ length: 5 }, () => expect.objectContaining(call)));
});

it.each(['rename', 'copy'] as const)(
  'a %s that its storage goes on with is over when it is done, also when its caller aborts',
  async (operation) => {
    const turn = Promise.withResolvers<void>();
    const plain = (await memoryDriver.open('')) as Required<StorageDriver>;
    await plain.write(file, chunks('x'), { overwrite: true });
    const act = plain[operation].bind(plain);
    let signal: AbortSignal | undefined;
    plain[operation] = async (from, to, options) => {
      signal = options.signal;
      await turn.promise;
      return act(from, to, { overwrite: false });
    };
    const guarded = withDeadline(plain, { callMs: 60_000, stallMs: 60_000, treeMs: 60_000, commitMs: 60_000 }) as Required<StorageDriver>;
    const caller = new AbortController();
    const target = relativeTo(VIRTUAL_ROOT, parseVirtualPath('/target'));
    const acting = guarded[operation](file, target, { overwrite: false, signal: caller.signal });
    await vi.waitFor(() => expect(signal).toBeDefined());
    caller.abort();
    expect(signal?.aborted).toBe(true);
    turn.resolve();
    expect(await acting).toMatchObject({ name: 'target' });
  },
);

it('a removal of what is no full folder is over when it is done, also when its caller aborts', async () => {
  const turn = Promise.withResolvers<void>();
  const plain = (await memoryDriver.open('')) as Required<StorageDriver>;
  await plain.write(file, chunks('x'), { overwrite: true });
  const remove = plain.remove.bind(plain);
  let signal: AbortSignal | undefined;
  plain.remove = async (path, options) => {
    signal = options.signal;
    await turn.promise;
    return remove(path, { recursive: false });
  };
  const guarded = withDeadline(plain, { callMs: 60_000, stallMs: 60_000, treeMs: 60_000, commitMs: 60_000 }) as Required<StorageDriver>;
  const caller = new AbortController();
  let isOver = false;
  const removing = guarded.remove(file, { recursive: false, signal: caller.signal }).finally(() => {
    isOver = true;
  });
  await vi.waitFor(() => expect(signal).toBeDefined());
  caller.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect([signal?.aborted, isOver]).toEqual([true, false]);
  turn.resolve();
  await removing;
});

it('a file that waits for its turn in a storage below is ended later, where it is patient', async () => {
  const turn = Promise.withResolvers<void>();
  const plain = await memoryDriver.open('');
  await plain.write?.(file, chunks('x'), { overwrite: true });
  const waiting = decorated({
    ...operationsOf(plain),
    read: async (...given) => turn.promise.then(() => plain.read(...given)),
    write: async (...given) => turn.promise.then(() => (plain as Required<StorageDriver>).write(...given)),
  });
  const guarded = withDeadline(waiting, { ...LIMITS, turnMs: 60_000 });
  const patient = { overwrite: true, isPatient: true } as const;
  const kept = Promise.all([guarded.read(file, undefined, patient), guarded.write?.(file, chunks('y'), patient)]);
  await expect(guarded.read(file)).rejects.toSatisfy(isLate);
  await expect(guarded.write?.(file, chunks('z'), { overwrite: true })).rejects.toSatisfy(isLate);
  turn.resolve();
  expect(await kept).toMatchObject([{ entry: { sizeBytes: 1 } }, { sizeBytes: 1 }]);
});

it.each<[string, (driver: Required<StorageDriver>, asks: Pick<CallOptions, 'afterWaiting'>) => Promise<unknown>]>([
  ['a write', (driver, asks) => driver.write(file, chunks('x'), { ...asks, overwrite: true })],
  ['a new folder', (driver, asks) => driver.makeDirectory(file, asks)],
  ['a removal', (driver, asks) => driver.remove(file, { ...asks, recursive: false })],
  ['a removal in whole', (driver, asks) => driver.remove(file, { ...asks, recursive: true })],
  ['a removal that is begun', (driver, asks) => driver.beginRemoval([file], asks)],
  ['a rename', (driver, asks) => driver.rename(file, file, { ...asks, overwrite: true })],
  ['a copy', (driver, asks) => driver.copy(file, file, { ...asks, overwrite: true })],
])('what %s asks right before the change is not the time of its storage; what comes after is', async (_what, change) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let isSilent = false;
  const asked = async (options?: CallOptions): Promise<never> => {
    await options?.afterWaiting?.();
    if (isSilent) await vi.advanceTimersByTimeAsync(10 * LIMITS.callMs);
    throw new AppError('STORAGE_READ_ONLY', 'asked');
  };
  const driver = decorated({
    ...operationsOf(await memoryDriver.open('')),
    write: async (_file, content, options) => {
      for await (const _piece of content);
      return asked(options);
    },
    makeDirectory: (_path, options) => asked(options),
    remove: (_path, options) => asked(options),
    beginRemoval: (_paths, options) => asked(options),
    rename: (_from, _to, options) => asked(options),
    copy: (_from, _to, options) => asked(options),
  });
  const guarded = withDeadline(driver, LIMITS) as Required<StorageDriver>;
  const afterWaiting = async () => void (await vi.advanceTimersByTimeAsync(10 * LIMITS.callMs));
  await expect(change(guarded, { afterWaiting })).rejects.toMatchObject({ code: 'STORAGE_READ_ONLY' });
  isSilent = true;
  await expect(change(guarded, { afterWaiting })).rejects.toSatisfy(isLate);
});
