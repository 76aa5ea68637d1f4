import type { CallOptions, FileContent, StorageDriver, WriteOptions } from './storage-driver.ts';
import { Watchdog } from './watchdog.ts';

export interface Deadlines {
  /** For calls that look at names or change one. */
  readonly callMs: number;
  /** How long the storage may stand still while it lists, reads or writes; the whole takes as long as it needs. */
  readonly stallMs: number;
  /** For a copy or a removal in whole: neither reports how it gets on. */
  readonly treeMs: number;
}

/**
 * Ends every call that takes too long with DEADLINE_EXCEEDED, and every aborted one at once, also when the driver does not react: its signal
 * is aborted and its late answer dropped. Whether the storage still does what was asked is unknown then.
 *
 * The time in which the source of a write, what it asks before it publishes, or the reader of a file stands still is not counted.
 */
export function withDeadline(driver: StorageDriver, { callMs, stallMs, treeMs }: Deadlines): StorageDriver {
  const { write, makeDirectory, remove, rename, copy, link, space, openDraft, listNames, statMany } = driver;
  return {
    traits: driver.traits,
    stat: (path, options) => within(callMs, options, (call) => driver.stat(path, call)),
    list: (directory, options) => listWithin(stallMs, options, (call) => driver.list(directory, call)),
    read: (file, range, options) => readWithin(callMs, stallMs, options, (call) => driver.read(file, range, { ...options, ...call })),
    close: () => driver.close(),
    ...(write && {
      write: (file, content, options) =>
        writeWithin(stallMs, content, options, (chunks, call) => write.call(driver, file, chunks, { ...options, ...call })),
    }),
    ...(makeDirectory && { makeDirectory: (path, options) => within(callMs, options, (call) => makeDirectory.call(driver, path, call)) }),
    ...(remove && { remove: (path, options) => within(treeMs, options, (call) => remove.call(driver, path, { ...options, ...call })) }),
    ...(rename && {
      rename: (from, to, options) => within(callMs, options, (call) => rename.call(driver, from, to, { ...options, ...call })),
    }),
    ...(copy && { copy: (from, to, options) => within(treeMs, options, (call) => copy.call(driver, from, to, { ...options, ...call })) }),
    ...(link && { link: (file, options) => within(callMs, options, (call) => link.call(driver, file, call)) }),
    ...(space && { space: (options) => within(callMs, options, (call) => space.call(driver, call)) }),
    ...(openDraft && {
      openDraft: (file, id, options) => within(callMs, options, (call) => openDraft.call(driver, file, id, { ...options, ...call })),
    }),
    ...(listNames && {
      listNames: (directory, known, options) => within(callMs, options, (call) => listNames.call(driver, directory, known, call)),
    }),
    ...(statMany && {
      statMany: (directory, names, options) =>
        within(callMs, options, (call) => statMany.call(driver, directory, names, { ...options, ...call })),
    }),
  };
}

async function within<Result>(
  limitMs: number,
  options: CallOptions | undefined,
  run: (call: CallOptions) => Promise<Result>,
): Promise<Result> {
  const watchdog = new Watchdog(options?.signal);
  watchdog.arm(limitMs);
  try {
    return await watchdog.guard(run({ signal: watchdog.signal }));
  } finally {
    watchdog.dispose();
  }
}

async function* listWithin<Item>(
  stallMs: number,
  options: CallOptions | undefined,
  run: (call: CallOptions) => AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
  const watchdog = new Watchdog(options?.signal);
  yield* guarded(run({ signal: watchdog.signal }), watchdog, stallMs);
}

async function readWithin(
  callMs: number,
  stallMs: number,
  options: CallOptions | undefined,
  run: (call: CallOptions) => Promise<FileContent>,
): Promise<FileContent> {
  const watchdog = new Watchdog(options?.signal);
  watchdog.arm(callMs);
  try {
    const content = await watchdog.guard(run({ signal: watchdog.signal }));
    watchdog.disarm();
    const { entry, whole } = content;
    // Nothing is left to wait for.
    if (whole !== undefined) watchdog.dispose();
    return { entry, ...(whole && { whole }), [Symbol.asyncIterator]: () => guarded(content, watchdog, stallMs) };
  } catch (error) {
    watchdog.dispose();
    throw error;
  }
}

async function writeWithin<Result>(
  stallMs: number,
  content: AsyncIterable<Uint8Array>,
  options: WriteOptions,
  run: (chunks: AsyncIterable<Uint8Array>, call: Pick<WriteOptions, 'signal' | 'beforePublish'>) => Promise<Result>,
): Promise<Result> {
  const watchdog = new Watchdog(options.signal);
  watchdog.arm(stallMs);
  try {
    const { beforePublish } = options;
    const ask = async () => {
      watchdog.disarm();
      await beforePublish?.();
      watchdog.arm(stallMs);
    };
    const call = { signal: watchdog.signal, ...(beforePublish && { beforePublish: ask }) };
    return await watchdog.guard(run(uncounted(content, watchdog, stallMs), call));
  } finally {
    watchdog.dispose();
  }
}

/** Each step of `steps` within the limit; the time between steps is the receiver's. */
async function* guarded<Item>(steps: AsyncIterable<Item>, watchdog: Watchdog, stallMs: number): AsyncGenerator<Item, void> {
  const iterator = steps[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      watchdog.arm(stallMs);
      const step = await watchdog.guard(iterator.next());
      watchdog.disarm();
      isWaiting = false;
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    watchdog.dispose();
    // A step that hangs would keep its iterator from ending; the aborted signal ends it.
    const ended = iterator.return?.();
    if (isWaiting) ended?.catch(() => undefined);
    else await ended;
  }
}

/** Passes `content` on and stops the clock while its source is asked. */
async function* uncounted(content: AsyncIterable<Uint8Array>, watchdog: Watchdog, stallMs: number): AsyncGenerator<Uint8Array, void> {
  watchdog.disarm();
  for await (const chunk of content) {
    watchdog.arm(stallMs);
    yield chunk;
    watchdog.disarm();
  }
  watchdog.arm(stallMs);
}
