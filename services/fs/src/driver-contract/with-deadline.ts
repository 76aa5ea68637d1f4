import { giveWay } from '@wharf/pace';
import { decorated, operationsOf } from './complete-driver.ts';
import type { CallOptions, Draft, FileContent, RemoveOptions, StorageDriver, WholeWrite, WriteOptions } from './storage-driver.ts';
import { throwIfAborted } from './storage-error.ts';
import { Watchdog } from './watchdog.ts';

export interface Deadlines {
  /** For calls that look at names or change one. */
  readonly callMs: number;
  /** How long the storage may stand still while it lists, reads or writes; the whole takes as long as it needs. */
  readonly stallMs: number;
  /** For what follows the last byte of a write: making it durable and giving it its name. For a rename too: a folder may be looked through for links. */
  readonly commitMs: number;
  /** For a copy or a removal in whole, as neither reports how it gets on; of a removal in steps for each of them. */
  readonly treeMs: number;
  /** How long a file that is patient may wait to be opened: it has its turn in a storage that this one goes by. Absent: as others. */
  readonly turnMs?: number;
}

/**
 * Ends every call that takes too long with DEADLINE_EXCEEDED, and every aborted one at once, also when the driver does not react: its signal
 * is aborted and its late answer dropped. Whether the storage still does what was asked is unknown then. Only of a write whose content has ended,
 * of a draft that is published, and of a rename or a copy the outcome is waited for within their time, also when it is aborted.
 *
 * A storage that answers without waiting for anything, as one of made-up files does, would keep the thread for as long as a walk through it or a listing
 * takes: so calls, and the entries of listings, give way to other work.
 *
 * The time in which the source of a write, what a change asks on its way, or the reader of a file stands still is not counted.
 */
export function withDeadline(driver: StorageDriver, limits: Deadlines): StorageDriver {
  const { callMs, stallMs, treeMs } = limits;
  const {
    write,
    makeDirectory,
    remove,
    beginRemoval,
    rename,
    copy,
    link,
    space,
    thumbnail,
    findOnHost,
    openDraft,
    listNames,
    statMany,
    listAll,
    readMany,
    writeMany,
    ...own
  } = operationsOf(driver);
  return decorated({
    traits: driver.traits,
    stat: (path, options) => within(callMs, options, (call) => driver.stat(path, { ...options, ...call })),
    list: (directory, options) => listWithin(stallMs, options, (call) => driver.list(directory, { ...options, ...call })),
    read: (file, range, options) => readWithin(limits, options, (call) => driver.read(file, range, { ...options, ...call })),
    close: own.close,
    write:
      write &&
      ((file, content, options) => writeWithin(limits, content, options, (chunks, call) => write(file, chunks, { ...options, ...call }))),
    makeDirectory: makeDirectory && ((path, options) => within(callMs, options, (call) => makeDirectory(path, { ...options, ...call }))),
    remove:
      remove &&
      ((path, options) =>
        options.recursive && !options.onlyIf
          ? removeWithin(treeMs, options, (call) => remove(path, { ...options, ...call }))
          : outcomeWithin(callMs, options, (call) => remove(path, { ...options, ...call }))),
    beginRemoval: beginRemoval && ((paths, options) => within(treeMs, options, (call) => beginRemoval(paths, { ...options, ...call }))),
    rename: rename && ((from, to, options) => outcomeWithin(limits.commitMs, options, (call) => rename(from, to, { ...options, ...call }))),
    copy: copy && ((from, to, options) => outcomeWithin(treeMs, options, (call) => copy(from, to, { ...options, ...call }))),
    link: link && ((file, options) => within(callMs, options, (call) => link(file, { ...options, ...call }))),
    space: space && ((options) => within(callMs, options, (call) => space({ ...options, ...call }))),
    thumbnail: thumbnail && ((file, options) => within(callMs, options, (call) => thumbnail(file, { ...options, ...call }))),
    findOnHost: findOnHost && ((file, options) => within(callMs, options, (call) => findOnHost(file, { ...options, ...call }))),
    openDraft:
      openDraft &&
      (async (file, id, options) =>
        draftWithin(await within(callMs, options, (call) => openDraft(file, id, { ...options, ...call })), limits)),
    listNames:
      listNames && ((directory, known, options) => within(callMs, options, (call) => listNames(directory, known, { ...options, ...call }))),
    statMany:
      statMany && ((directory, names, options) => within(callMs, options, (call) => statMany(directory, names, { ...options, ...call }))),
    listAll: listAll && ((directory, options) => listWithin(stallMs, options, (call) => listAll(directory, { ...options, ...call }))),
    readMany: readMany && ((files, options) => within(callMs, options, (call) => readMany(files, { ...options, ...call }))),
    writeMany:
      writeMany &&
      ((files, options) => writeManyWithin(limits.commitMs, files, options, (asked, call) => writeMany(asked, { ...options, ...call }))),
  });
}

/** Sync and publish make durable all that was written, and have the time of a final commit. */
function draftWithin(draft: Draft, limits: Deadlines): Draft {
  const { callMs, stallMs, commitMs } = limits;
  return {
    partBytes: draft.partBytes,
    write: (offsetBytes, content, options = {}) =>
      writeWithin(limits, content, options, (chunks, call) => draft.write(offsetBytes, chunks, { ...options, ...call })),
    sync: () => within(commitMs, undefined, () => draft.sync()),
    sizeBytes: () => within(callMs, undefined, () => draft.sizeBytes()),
    read: (options) => listWithin(stallMs, options, (call) => draft.read(call)),
    publish: (options) => publishWithin(commitMs, options, (call) => draft.publish({ ...options, ...call })),
    discard: () => within(callMs, undefined, () => draft.discard()),
    close: () => within(callMs, undefined, () => draft.close()),
  };
}

async function within<Result>(
  limitMs: number,
  options: CallOptions | undefined,
  run: (call: CallOptions) => Promise<Result>,
  prepare?: (watchdog: Watchdog) => void,
): Promise<Result> {
  const watchdog = new Watchdog(options?.signal);
  prepare?.(watchdog);
  watchdog.arm(limitMs);
  try {
    return await watchdog.guard(inTurn(watchdog, (call) => run({ ...call, ...asking(options, watchdog, limitMs) })));
  } finally {
    watchdog.dispose();
  }
}

/** What is asked takes its own time: our store may be away, and the storage is not to blame for that. */
const inOwnTime =
  <Given extends readonly unknown[]>(watchdog: Watchdog, limitMs: number, ask: (...given: Given) => Promise<void>) =>
  async (...given: Given): Promise<void> => {
    watchdog.disarm();
    try {
      await ask(...given);
    } finally {
      watchdog.arm(limitMs);
    }
  };

function asking(options: CallOptions | undefined, watchdog: Watchdog, limitMs: number): Pick<CallOptions, 'afterWaiting'> {
  const { afterWaiting } = options ?? {};
  return afterWaiting ? { afterWaiting: inOwnTime(watchdog, limitMs, afterWaiting) } : {};
}

/** The same of what a server goes on with when its caller has left: it is over when it is done or taken back. */
function outcomeWithin<Result>(limitMs: number, options: CallOptions, run: (call: CallOptions) => Promise<Result>): Promise<Result> {
  return within(limitMs, options, run, (watchdog) => watchdog.awaitOutcome());
}

/** The same of a removal, each step of which has that time. */
async function removeWithin(
  limitMs: number,
  options: RemoveOptions,
  run: (call: Pick<RemoveOptions, 'signal' | 'afterWaiting' | 'beforeStep'>) => Promise<void>,
): Promise<void> {
  const { beforeStep = async () => {} } = options;
  const watchdog = new Watchdog(options.signal);
  watchdog.arm(limitMs);
  const questions = { ...asking(options, watchdog, limitMs), beforeStep: inOwnTime(watchdog, limitMs, beforeStep) };
  try {
    await watchdog.guard(inTurn(watchdog, (call) => run({ ...call, ...questions })));
  } finally {
    watchdog.dispose();
  }
}

/** Begins a call once there is room for it. */
function inTurn<Result>({ signal }: Watchdog, run: (call: CallOptions) => Promise<Result>): Promise<Result> {
  const begin = () => {
    throwIfAborted(signal);
    return run({ signal });
  };
  return giveWay()?.then(begin) ?? run({ signal });
}

async function* listWithin<Item>(
  stallMs: number,
  options: CallOptions | undefined,
  run: (call: CallOptions) => AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
  const watchdog = new Watchdog(options?.signal);
  const room = giveWay();
  if (room) await watchdog.guard(room);
  yield* guarded(run({ signal: watchdog.signal }), watchdog, stallMs, giveWay);
}

async function readWithin(
  { callMs, stallMs, turnMs = callMs }: Deadlines,
  options: CallOptions | undefined,
  run: (call: CallOptions) => Promise<FileContent>,
): Promise<FileContent> {
  const watchdog = new Watchdog(options?.signal);
  watchdog.arm(options?.isPatient ? turnMs : callMs);
  try {
    const content = await watchdog.guard(inTurn(watchdog, run));
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

type Publishing = Pick<WriteOptions, 'signal' | 'isPatient' | 'afterWaiting' | 'beforePublish' | 'onProgress'>;

async function writeWithin<Result>(
  limits: Deadlines,
  content: AsyncIterable<Uint8Array>,
  options: Publishing,
  run: (chunks: AsyncIterable<Uint8Array>, call: Publishing) => Promise<Result>,
): Promise<Result> {
  const watchdog = new Watchdog(options.signal);
  watchdog.arm((options.isPatient && limits.turnMs) ?? limits.stallMs);
  try {
    return await watchdog.guard(run(uncounted(content, watchdog, limits), publishing(options, watchdog, limits.commitMs)));
  } finally {
    watchdog.dispose();
  }
}

async function publishWithin<Result>(commitMs: number, options: Publishing, run: (call: Publishing) => Promise<Result>): Promise<Result> {
  const watchdog = new Watchdog(options.signal);
  watchdog.awaitOutcome();
  watchdog.arm(commitMs);
  try {
    return await watchdog.guard(run(publishing(options, watchdog, commitMs)));
  } finally {
    watchdog.dispose();
  }
}

/** All content is there: nothing but the commit is waited for. */
async function writeManyWithin<Result>(
  commitMs: number,
  files: readonly WholeWrite[],
  options: CallOptions | undefined,
  run: (files: readonly WholeWrite[], call: CallOptions) => Promise<Result>,
): Promise<Result> {
  const watchdog = new Watchdog(options?.signal);
  watchdog.awaitOutcome();
  watchdog.arm(commitMs);
  let asking = 0;
  const uncountedAsk = (ask: WholeWrite['mayPublishUntil']) => async () => {
    asking += 1;
    watchdog.disarm();
    try {
      return await ask();
    } finally {
      asking -= 1;
      if (asking === 0) watchdog.arm(commitMs);
    }
  };
  const asked = files.map((each) => ({ ...each, mayPublishUntil: uncountedAsk(each.mayPublishUntil) }));
  try {
    return await watchdog.guard(run(asked, { signal: watchdog.signal }));
  } finally {
    watchdog.dispose();
  }
}

function publishing(options: Publishing, watchdog: Watchdog, commitMs: number): Publishing {
  const { beforePublish } = options;
  return {
    signal: watchdog.signal,
    onProgress: () => watchdog.feed(),
    ...asking(options, watchdog, commitMs),
    ...(beforePublish && { beforePublish: inOwnTime(watchdog, commitMs, beforePublish) }),
  };
}

/** Each step of `steps` within the limit; the time between steps is the receiver's. @param rest what is waited for before a step is handed on */
async function* guarded<Item>(
  steps: AsyncIterable<Item>,
  watchdog: Watchdog,
  stallMs: number,
  rest: () => Promise<void> | undefined = () => undefined,
): AsyncGenerator<Item, void> {
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
      const room = rest();
      if (room) await room;
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

/** Passes `content` on and stops the clock while its source is asked. What comes after its end is the commit. */
async function* uncounted(
  content: AsyncIterable<Uint8Array>,
  watchdog: Watchdog,
  { stallMs, commitMs }: Deadlines,
): AsyncGenerator<Uint8Array, void> {
  watchdog.disarm();
  for await (const chunk of content) {
    watchdog.arm(stallMs);
    yield chunk;
    watchdog.disarm();
  }
  watchdog.awaitOutcome();
  watchdog.arm(commitMs);
}
