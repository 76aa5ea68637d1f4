import { AppError } from '@wharf/errors';
import { isWithin, MOUNT_ROOT, type MountPath, parentPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { decorated, operationsOf, operationsOfDraft } from './complete-driver.ts';
import { inTime } from './in-time.ts';
import { OwnPart } from './own-part.ts';
import type { CallOptions, Draft, Entry, StorageDriver, WholeWrite } from './storage-driver.ts';
import { storageError } from './storage-error.ts';
import { whileWanted } from './while-wanted.ts';

/**
 * Keeps removals that hold for one state of a file (`onlyIf`) from what gets its name, or the name of a folder above it, through this process: what is being
 * named makes the removal a late one, which is refused with STALE_VERSION, and what comes during the removal waits for its end. So what is acknowledged
 * is never what such a removal takes, also where a storage looks and removes in two steps. What has got its name since the look (`stat`) that the removal goes
 * by counts too, also where the storage tells times so coarsely that it looks the same.
 *
 * A removal of what is empty is as lone: what gets a name in that folder through this process makes it DIRECTORY_NOT_EMPTY, or waits for its end. Many storages
 * look whether a folder is empty, and then remove it with all that is in it. So is a rename that may replace: a folder takes the place of an empty one.
 *
 * A folder and a file come to one name one after the other: on some servers the name is free for a moment while a file is replaced, or a file that gets its name
 * replaces a folder with all that is in it.
 *
 * @param names of all drivers that are open to the same storage: what runs on the one before goes on when another is opened
 */
export function withLoneRemovals(driver: StorageDriver, names = new LoneNames()): StorageDriver {
  const operations = operationsOf(driver);
  const { write, remove, rename, copy, openDraft, writeMany, makeDirectory } = operations;
  if (!remove) return driver;
  const naming = async <Result>(
    paths: readonly MountPath[],
    options: CallOptions | undefined,
    run: () => Promise<Result>,
    kind?: NamedKind,
  ): Promise<Result> => {
    const late = inTime(options, run);
    const { given, leave } = await names.enter(paths, options, kind);
    given();
    try {
      return await late();
    } finally {
      leave();
    }
  };
  return decorated({
    ...operations,
    stat: async (path, options) => {
      const count = names.count;
      const entry = await driver.stat(path, options);
      names.looks.set(entry, count);
      return entry;
    },
    write:
      write &&
      (async (file, content, options) => {
        // A file gets its name when its content has ended, and may come for hours before that. Its folder is made as it begins.
        const naming = names.later(file, options);
        const making = await names.begin(parentPath(file), options);
        try {
          if (options.sizeBytes === 0) {
            // Who waits for those that came before holds nothing for which they may wait.
            making();
            await naming.enter();
            naming.given();
          }
          const entry = await write(file, ending(content, options.sizeBytes, { ...naming, begun: making }), options);
          naming.named();
          return entry;
        } finally {
          making();
          naming.leave();
        }
      }),
    remove:
      remove &&
      (async (path, options) => {
        const { onlyIf } = options;
        const since = onlyIf && names.looks.get(onlyIf);
        if (onlyIf?.isDirectory) return names.removingEmpty(path, () => remove(path, { ...options, recursive: false }), since);
        const run = () => remove(path, options);
        if (onlyIf) return names.removing(path, since, run);
        return options.recursive ? run() : names.removingEmpty(path, run);
      }),
    makeDirectory:
      makeDirectory &&
      ((path, options) =>
        names.making(
          path,
          options,
          inTime(options, () => makeDirectory(path, options)),
        )),
    rename:
      rename &&
      ((from, to, options) => {
        const late = inTime(options, () => rename(from, to, options));
        const run = async () => {
          await names.namedIn(from, options.signal);
          return late();
        };
        const alone = () => (options.overwrite && from !== to ? names.removingEmpty(to, run) : run());
        return naming([to], options, alone, options.isTree && 'folder');
      }),
    copy: copy && ((from, to, options) => naming([to], options, () => copy(from, to, options), options.isTree && 'copied folder')),
    openDraft:
      openDraft &&
      (async (file, id, options) => {
        const late = inTime(options, () => openDraft(file, id, options));
        const made = options.create ? await names.begin(parentPath(file), options) : undefined;
        try {
          return publishing(await late(), (published, publish) => naming([file], published, publish));
        } finally {
          made?.();
        }
      }),
    writeMany: writeMany && ((files, options) => naming(pathsOf(files), options, () => writeMany(files, options))),
  });
}

const pathsOf = (files: readonly WholeWrite[]) => files.map(({ file }) => file);

/**
 * For so long, in milliseconds, from when one of them came, a folder and a file wait for each other: who waits holds a turn of the storage, and a copy, an upload that
 * stands in line or a content that does not end may take hours.
 */
const PATIENCE_MS = 5_000;

/** A copied folder may take hours, and nobody waits for it. */
type NamedKind = 'folder' | 'copied folder' | undefined;

/** What all paths take that got a name and are remembered, of all storages together: more than there can be between a look and a removal. */
const MAX_NAMED_BYTES = 16 * 1024 * 1024;
/** What one takes beside its letters, and one of these. */
const [NAMED_BYTES, LETTER_BYTES] = [192, 2];

/** What had a name as what counted. */
interface Named {
  readonly count: number;
  readonly onForgotten: (count: number) => void;
}

const namedOfAll = new LRUCache<string, Named>({
  maxSize: MAX_NAMED_BYTES,
  sizeCalculation: (_named, key) => NAMED_BYTES + LETTER_BYTES * key.length,
  dispose: ({ count, onForgotten }, _key, reason) => reason === 'evict' && onForgotten(count),
});

/** What gets a name in a storage, and what is being removed. */
export class LoneNames {
  /** How many had got their name at each look. */
  readonly looks = new WeakMap<Entry, number>();
  /** How many are about to have a name. */
  readonly #entered = new Map<MountPath, number>();
  /** Which one it was that had a name last, by paths. */
  readonly #named = new OwnPart(namedOfAll);
  #count = 0;
  /** What had a name up to this one may have been forgotten. */
  #forgotten = 0;
  readonly #onForgotten = (count: number): void => {
    this.#forgotten = Math.max(this.#forgotten, count);
  };
  /** How many are about to be folders there. */
  readonly #making = new Map<MountPath, number>();
  readonly #removals = new Set<Change>();
  /** Files that are about to have a name, and folders that are about to be made: who comes waits for those that came before. */
  readonly #files = new Set<Change>();
  readonly #folders = new Set<Change>();
  /** Folders that are about to have another name. Those above are there. */
  readonly #moved = new Set<Change>();

  /** How many have got their name. */
  get count(): number {
    return this.#count;
  }

  /**
   * Waits for what is being removed at these paths, below and above. What would be removed later is refused by then: who asks for removals on and on keeps nothing
   * from its name. So it does for folders that are being made at these paths, and below, or moved to them; a folder waits for the files that are to have its name.
   *
   * @returns to be called once what gets a name has it
   * @throws AppError CANCELLED
   */
  async enter(paths: readonly MountPath[], options: CallOptions | undefined, kind?: NamedKind): Promise<Naming> {
    const isOne = (other: MountPath) => paths.includes(other);
    const files = kind ? those(this.#files, isOne) : [];
    const folders = kind
      ? []
      : [...those(this.#folders, (folder) => paths.some((named) => isWithin(named, folder))), ...those(this.#moved, isOne)];
    // Some storages have a folder with the first file in it.
    const isAround = (other: MountPath) => paths.some((named) => other !== named && (isWithin(named, other) || isWithin(other, named)));
    const around = kind ? [] : those(this.#files, isAround);
    const removed = those(this.#removals, (each) => paths.some((named) => isWithin(named, each) || isWithin(each, named)));
    const own = kind === 'folder' ? this.#moved : this.#files;
    const changes = kind === 'copied folder' ? [] : paths.map((path) => add(own, path));
    const leave = () => {
      for (const path of paths) count(this.#entered, path, -1);
      for (const change of changes) change.leave();
    };
    for (const path of paths) count(this.#entered, path, 1);
    try {
      await settled([...[...folders, ...around].map(({ soon }) => soon), ...removed.map(({ end }) => end)], options?.signal);
      await refuseLate(files, options);
    } catch (error) {
      leave();
      throw error;
    }
    return {
      given: () => {
        for (const change of changes) change.isGiven = true;
      },
      leave: () => {
        for (const path of paths) this.#note(path);
        leave();
      },
    };
  }

  /** The same for a folder. It may be there already, so it makes no removal of a file a late one. */
  async making<Result>(path: MountPath, options: CallOptions | undefined, make: () => Promise<Result>): Promise<Result> {
    count(this.#making, path, 1);
    try {
      const made = await this.begin(path, options);
      try {
        const removed = those(this.#removals, (each) => isWithin(each, path));
        await settled(
          removed.map(({ end }) => end),
          options?.signal,
        );
        return await make();
      } finally {
        made();
      }
    } finally {
      count(this.#making, path, -1);
    }
  }

  /** Waits, for a moment, for the files in a folder that have all of their content and are about to have their names: one that is replaced would be missed there. */
  async namedIn(folder: MountPath, signal: AbortSignal | undefined): Promise<void> {
    const isInside = (file: MountPath) => file !== folder && isWithin(folder, file);
    await settled(
      those(this.#files, isInside).map(({ soon }) => soon),
      signal,
    );
  }

  /**
   * Waits for the files that are about to have the name of this folder, or of one above it.
   *
   * @returns to be called once the folder is there, or is not made
   * @throws AppError CANCELLED | OVERLOADED: one of them takes long, and its name is no longer its sender's matter
   */
  async begin(folder: MountPath, options: CallOptions | undefined): Promise<() => void> {
    const files = those(this.#files, (file) => isWithin(file, folder));
    const { leave } = add(this.#folders, folder);
    try {
      await refuseLate(files, options);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The same for one that enters at some time, or never, and leaves in any case. */
  later(path: MountPath, options: CallOptions): { enter(): Promise<void>; given(): void; named(): void; leave(): void } {
    let entering: Promise<void> | undefined;
    let naming: Naming | undefined;
    let hasLeft = false;
    const enter = async () => {
      naming = await this.enter([path], options, undefined);
      if (hasLeft) naming.leave();
    };
    return {
      enter() {
        entering ??= enter();
        return entering;
      },
      given: () => naming?.given(),
      named: () => {
        // A storage may have all of a content, and say so, before it is asked for its end.
        if (!naming) this.#note(path);
      },
      leave() {
        hasLeft = true;
        naming?.leave();
      },
    };
  }

  /**
   * @param since what was counted at the look; undefined: nobody knows
   * @throws AppError STALE_VERSION: something has got the name since then, or is about to
   */
  async removing(path: MountPath, since: number | undefined, remove: () => Promise<void>): Promise<void> {
    // To look at each folder above is to read a deep path a thousand times; few names are on their way.
    const isEntered = this.#entered.keys().some((named) => isWithin(named, path));
    if (isEntered || (since !== undefined && this.#isNamedSince(path, since))) throw storageError('STALE_VERSION');
    await this.#remove(path, remove);
  }

  /**
   * @param since as `removing` has it, where it was seen to be a folder
   * @throws AppError DIRECTORY_NOT_EMPTY: something is about to have a name in it | STALE_VERSION: something has got its name since
   */
  async removingEmpty<Result>(path: MountPath, remove: () => Promise<Result>, since?: number): Promise<Result> {
    if (since !== undefined && this.#isNamedSince(path, since)) throw storageError('STALE_VERSION');
    const isInside = (named: MountPath) => named !== path && isWithin(path, named);
    if ([this.#entered, this.#making].some((names) => names.keys().some(isInside))) throw storageError('DIRECTORY_NOT_EMPTY');
    return this.#remove(path, remove);
  }

  async #remove<Result>(path: MountPath, remove: () => Promise<Result>): Promise<Result> {
    const { leave } = add(this.#removals, path);
    try {
      return await remove();
    } finally {
      leave();
    }
  }

  #isNamedSince(path: MountPath, since: number): boolean {
    if (since >= this.#count) return false;
    if (since < this.#forgotten) return true;
    for (let at = path; at !== MOUNT_ROOT; at = parentPath(at)) if ((this.#named.get(at)?.count ?? 0) > since) return true;
    return false;
  }

  #note(path: MountPath): void {
    this.#count += 1;
    this.#named.set(path, { count: this.#count, onForgotten: this.#onForgotten });
  }
}

/** What changes at a path. */
interface Change {
  readonly path: MountPath;
  readonly end: Promise<void>;
  /** The same, but not after `PATIENCE_MS`. */
  readonly soon: Promise<void>;
  /** Of a file: its content is all there, and its end is a matter of the storage alone. */
  isGiven: boolean;
  isOver: boolean;
  leave(): void;
}

/** What is about to have names. */
interface Naming {
  given(): void;
  /** They have them. */
  leave(): void;
}

function add(changes: Set<Change>, path: MountPath): Change {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const { promise: soon, resolve: pass } = Promise.withResolvers<void>();
  const timer = setTimeout(pass, PATIENCE_MS);
  const change: Change = {
    ...{ path, end, soon, isGiven: false, isOver: false },
    leave() {
      change.isOver = true;
      clearTimeout(timer);
      changes.delete(change);
      resolve();
      pass();
    },
  };
  changes.add(change);
  return change;
}

/** Those by now whose path is concerned. */
function those(changes: ReadonlySet<Change>, concerns: (path: MountPath) => boolean): Change[] {
  return [...changes].filter(({ path }) => concerns(path));
}

/**
 * For a folder. Where the server has all of a file and takes long to give it its name, it would replace what the folder has by then.
 *
 * @throws AppError OVERLOADED | CANCELLED
 */
async function refuseLate(files: readonly Change[], options: CallOptions | undefined): Promise<void> {
  await settled(
    files.map(({ soon }) => soon),
    options?.signal,
  );
  const late = files.filter(({ isGiven, isOver }) => isGiven && !isOver);
  if (options?.isPatient)
    await settled(
      late.map(({ end }) => end),
      options.signal,
    );
  else if (late.length > 0) throw new AppError('OVERLOADED', 'a file is about to have this name, try again in a moment');
}

/** @throws AppError CANCELLED */
async function settled(ends: readonly Promise<unknown>[], signal: AbortSignal | undefined): Promise<void> {
  if (ends.length > 0) await whileWanted(Promise.all(ends), signal);
}

function count(numbers: Map<MountPath, number>, path: MountPath, by: number): void {
  const number = (numbers.get(path) ?? 0) + by;
  if (number === 0) numbers.delete(path);
  else numbers.set(path, number);
}

/**
 * A content whose last piece waits for `onEnd`: a storage that knows how much there is gives the file its name once it has all of it, and does not ask for
 * the end. Of one whose size nobody knows the end waits.
 */
async function* ending(
  content: AsyncIterable<Uint8Array>,
  sizeBytes: number | undefined,
  { begun, enter, given }: { begun(): void; enter(): Promise<void>; given(): void },
): AsyncGenerator<Uint8Array, void> {
  begun();
  let left = sizeBytes ?? Number.POSITIVE_INFINITY;
  for await (const piece of content) {
    left -= piece.byteLength;
    if (left <= 0) await enter();
    yield piece;
  }
  await enter();
  given();
}

type Publish = Draft['publish'];

function publishing(
  draft: Draft,
  naming: (options: Parameters<Publish>[0], publish: () => ReturnType<Publish>) => ReturnType<Publish>,
): Draft {
  return { ...operationsOfDraft(draft), publish: (options) => naming(options, () => draft.publish(options)) };
}
