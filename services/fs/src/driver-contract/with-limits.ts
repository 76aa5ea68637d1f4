import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from './complete-driver.ts';
import { inTime } from './in-time.ts';
import { createLane, type Lane, readUntilLeft } from './lane.ts';
import type { BeforePublish, CallOptions, Draft, PlaceOptions, StorageDriver } from './storage-driver.ts';

/** What may be under way in one storage at a time. */
export interface StorageLimits {
  /**
   * Calls that look at names or change one. Half of them at most remove folders with what is in them, which may take hours; small folders count as others.
   * A quarter at most gives folders another place: of what a server is slow at nothing is known before.
   */
  readonly names: number;
  /** Files that are open for reading, until they are read, left or aborted. */
  readonly reads: number;
  /**
   * Files that are written or copied. One that is copied inside the storage by reading and writing is in both lanes. Half of them at most are folders that
   * the storage copies.
   */
  readonly writes: number;
}

/** Of a storage that goes by others of the tree: these have limits. */
export type OfOthers = 'of others';

type Remove = NonNullable<StorageDriver['remove']>;
type Turns = Pick<Lane, 'run'>;

/** How long to wait for a turn, in milliseconds. */
const WAIT_MS = 30_000;

/**
 * Keeps what a storage is asked at once within limits, each lane with callers by turns: downloads that stand still hold up neither
 * listings nor uploads. A listing takes its turn for each step, for whoever reads it may ask the storage in between.
 *
 * Every call that is not patient may also throw AppError OVERLOADED: its turn did not come in time.
 */
export function withLimits(driver: StorageDriver, limits: StorageLimits, waitMs = WAIT_MS): StorageDriver {
  const operations = operationsOf(driver);
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
  } = operations;
  const lane = (size: number) => createLane({ size, share: Math.ceil(size / 2), waitMs });
  const [reads, writes] = [lane(limits.reads), lane(limits.writes)];
  const { names, asking } = withOwnQuestions(lane(limits.names));
  const trees = lane(Math.ceil(limits.names / 2));
  // Apart from removals: those take hours, and most storages move a folder at once.
  const moved = lane(Math.max(1, Math.floor(limits.names / 4)));
  const copied = lane(Math.ceil(limits.writes / 2));
  return decorated({
    traits: operations.traits,
    close: operations.close,
    stat: (path, options) => names.run(options, () => driver.stat(path, options)),
    list: (directory, options) => listInTurns(names, driver.list(directory, options), options),
    read: async (file, range, options) => readUntilLeft(await reads.enter(options), () => driver.read(file, range, options), options),
    write: write && ((file, content, options) => writes.run(options, () => write(file, content, asking(options)))),
    makeDirectory: makeDirectory && ((path, options) => runChange(names, options, () => makeDirectory(path, options))),
    remove: remove && removeInTurn(remove, { names, trees }),
    beginRemoval: beginRemoval && ((paths, options) => runChange(names, options, () => beginRemoval(paths, options))),
    rename: rename && ((from, to, options) => runPlacing([moved, names], options, () => rename(from, to, options))),
    copy: copy && ((from, to, options) => runPlacing([copied, writes], options, () => copy(from, to, options))),
    link: link && ((file, options) => names.run(options, () => link(file, options))),
    space: space && ((options) => names.run(options, () => space(options))),
    // It is a transfer, if a short one: a slow host of pictures holds up no names.
    thumbnail: thumbnail && ((file, options) => reads.run(options, () => thumbnail(file, options))),
    findOnHost: findOnHost && ((file, options) => names.run(options, () => findOnHost(file, options))),
    openDraft:
      openDraft &&
      (async (file, id, options) => draftInLanes(await names.run(options, () => openDraft(file, id, options)), { names, writes, asking })),
    listNames: listNames && ((directory, known, options) => names.run(options, () => listNames(directory, known, options))),
    statMany: statMany && ((directory, wanted, options) => names.run(options, () => statMany(directory, wanted, options))),
    listAll: listAll && ((directory, options) => listInTurns(names, listAll(directory, options), options)),
    readMany: readMany && ((files, options) => reads.run(options, () => readMany(files, options))),
    writeMany: writeMany && ((files, options) => writes.run(options, () => writeMany(files, options))),
  });
}

const runChange = <Result>(turns: Turns, options: CallOptions | undefined, change: () => Promise<Result>): Promise<Result> =>
  turns.run(options, inTime(options, change));

/** Marks what is asked before a file gets its name. */
type Asking = <Options extends { readonly beforePublish?: BeforePublish | undefined }>(options: Options) => Options;

/** What is asked before a file gets its name takes no turn: all of them may be those of calls that wait for what its write holds, as the only session of a server. */
function withOwnQuestions(lane: Lane): { names: Turns; asking: Asking } {
  const questions = new AsyncLocalStorage<{ isOver: boolean }>();
  return {
    names: { run: (options, work, room) => (questions.getStore()?.isOver === false ? work() : lane.run(options, work, room)) },
    asking(options) {
      const { beforePublish } = options;
      if (!beforePublish) return options;
      const ask = async () => {
        const question = { isOver: false };
        try {
          await questions.run(question, beforePublish);
        } finally {
          question.isOver = true;
        }
      };
      return { ...options, beforePublish: ask };
    },
  };
}

/** What is no folder, or an empty one, waits for no folder that takes hours: which of them it is the storage says, and a file costs no more for that. */
function removeInTurn(remove: Remove, { names, trees }: { names: Turns; trees: Turns }): Remove {
  return async (path, options) => {
    const whole = inTime(options, () => remove(path, options));
    if (!options.recursive || options.isSmall) return names.run(options, whole);
    try {
      const single = { ...options, recursive: false };
      // What has begun is a task's, which waits: it is not asked for twice.
      if (options.begun === undefined) return await runChange(names, single, () => remove(path, single));
    } catch (error) {
      if (!AppError.is(error, 'DIRECTORY_NOT_EMPTY')) throw error;
    }
    await trees.run(options, () => names.run(options, whole));
  };
}

/** What gives a folder a place takes a turn of those that do, besides one of all. */
function runPlacing<Result>([trees, all]: readonly [Turns, Turns], options: PlaceOptions, work: () => Promise<Result>): Promise<Result> {
  const late = inTime(options, work);
  const inTurn = () => all.run(options, late);
  return options.isTree ? trees.run(options, inTurn) : inTurn();
}

async function* listInTurns<Item>(
  names: Turns,
  listing: AsyncIterable<Item>,
  options: CallOptions | undefined,
): AsyncGenerator<Item, void> {
  const entries = listing[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await names.run(options, () => entries.next());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    await entries.return?.();
  }
}

function draftInLanes(draft: Draft, { names, writes, asking }: { names: Turns; writes: Turns; asking: Asking }): Draft {
  return {
    partBytes: draft.partBytes,
    write: (offsetBytes, content, options) => writes.run(options, () => draft.write(offsetBytes, content, options)),
    sync: () => writes.run(undefined, () => draft.sync()),
    sizeBytes: () => names.run(undefined, () => draft.sizeBytes()),
    read: (options) => draft.read(options),
    publish: (options) => writes.run(options, () => draft.publish(asking(options))),
    discard: () => names.run(undefined, () => draft.discard()),
    close: () => draft.close(),
  };
}
