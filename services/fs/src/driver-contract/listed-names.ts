import { AppError } from '@wharf/errors';
import { createPace, forgettable } from '@wharf/pace';
import { childPath, isEntryName, MOUNT_ROOT, type MountPath, nameAt, parentPath, pathSegments } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { hasDoubtfulName, isDoubtfulName, mayBeStream, ownerOfStream } from './doubtful-names.ts';
import { OwnPart } from './own-part.ts';
import { beginListing, requireListedAbove } from './require-listed.ts';
import { createSharedWork } from './shared-work.ts';
import type { CallOptions, Entry, StorageDriver } from './storage-driver.ts';
import { isNotThere, isSaidOfPart, isUnanswered, storageError, throwIfAborted } from './storage-error.ts';
import { heldWhileOpen } from './while-open.ts';

/** So long, in milliseconds, a name that was listed counts as listed; of a folder that took long, so many times as long as that, and no longer than the last. */
const [LISTED_MS, TIMES_AS_LONG, MOST_LISTED_MS] = [5_000, 10, 60_000];
/** What is kept of all folders of all storages together, in bytes, and of one. */
const MAX_KEPT_BYTES = 24 * 1024 * 1024;
const MAX_FOLDER_BYTES = 6 * 1024 * 1024;
/** What a name takes beside its letters, one of these, and what is kept of a folder beside its names. */
const [NAME_BYTES, LETTER_BYTES, FOLDER_BYTES] = [64, 2, 512];
/** For so many names of a folder that are asked for at a time it is listed, as each of them would cost two looks or three; so many entries of it for each. */
const [MANY, ENTRIES_FOR_EACH] = [200, 100];

/** Of a folder: it only ever says yes. */
interface Listed {
  readonly names: Set<string>;
  readonly bytes: number;
  readonly untilMs: number;
}

/** What a listing found. */
interface Gathered {
  readonly names: ReadonlySet<string>;
  readonly isAll: boolean;
}

const listedOfAll = forgettable(new LRUCache<string, Listed>({ maxSize: MAX_KEPT_BYTES, sizeCalculation: ({ bytes }) => bytes }));

/** What folders of a storage list of doubtful names. */
export class ListedNames {
  readonly #driver: StorageDriver;
  readonly #kept = new OwnPart(listedOfAll);
  readonly #listing = createSharedWork<MountPath, Gathered>();

  constructor(driver: StorageDriver) {
    this.#driver = driver;
  }

  /**
   * @param above a folder on the way of which this is known in this call: of many names in a deep folder the way is gone once.
   * @throws AppError ENTRY_NOT_FOUND, and what looks and listing a folder throw
   */
  async require(path: MountPath, options: CallOptions | undefined, above?: MountPath): Promise<void> {
    if (!doubtfulPlaces(path, above).every((place) => this.#isKnown(place))) await this.stat(path, options, above);
  }

  /** Of many names one listing of their folder tells, if that is not long for them; those that it does not have are looked at one by one. @throws AppError: the storage is away, or the caller */
  async expect(paths: readonly MountPath[], options: CallOptions | undefined): Promise<void> {
    const pace = createPace(options?.signal);
    const counts = new Map<MountPath, number>();
    for (const path of paths) {
      await pace.step();
      const folder = parentPath(path);
      if (isDoubtfulEntry(path) && !this.#isKnown(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    for (const [folder, count] of counts) {
      if (count < MANY) continue;
      await this.#gather(folder, options?.signal, ENTRIES_FOR_EACH * count).catch((error: unknown) => {
        throwIfAborted(options?.signal);
        // The folder may not be there, or none: looks tell.
        if (isUnanswered(error)) throw error;
      });
    }
  }

  /** @throws as require() */
  async stat(path: MountPath, options: CallOptions | undefined, above?: MountPath): Promise<Entry> {
    // What is not there is not looked for among all that is.
    const entry = await this.#driver.stat(path, options);
    for (const place of doubtfulPlaces(path, above)) {
      if (this.#isKnown(place)) continue;
      if (!(await this.#isOwn(place, options)) && !(await this.#isListed(place, options)))
        throw storageError('ENTRY_NOT_FOUND', new Unlisted());
      this.#keep(parentPath(place), [nameAt(place)]);
    }
    return entry;
  }

  /**
   * For what is to go: what is not there counts as gone, and something is there by a name that is not listed. It may be an entry of that name, too: gateways list what
   * they have kept.
   *
   * @throws as require(), FAILED_PRECONDITION (not listed), and STORAGE_UNAVAILABLE where what is missing may be away
   */
  async requireToGo(path: MountPath, options: CallOptions | undefined, above?: MountPath): Promise<void> {
    try {
      await this.require(path, options, above);
    } catch (error) {
      if (AppError.is(error) && error.cause instanceof Unlisted) throw unlistedStays(error);
      if (isNotThere(error) && isSaidOfPart(error)) await requireListedAbove(this.#driver, path, callOf(options));
      throw error;
    }
  }

  /** For what is made, with its folders. @throws AppError ENTRY_EXISTS: something is there by that name that is not listed; what looks and listing throw */
  async requireFree(path: MountPath, options: CallOptions | undefined, above?: MountPath): Promise<void> {
    try {
      for (const place of doubtfulPlaces(path, above)) {
        const isOwn = await this.#isOwn(place, options);
        if (isOwn && (place === path || this.#isKnown(place))) continue;
        // Nothing is below it neither.
        if (!(await this.#isThere(place, options))) return;
        if (!isOwn && !(await this.#isListed(place, options))) throw storageError('ENTRY_EXISTS');
      }
    } catch (error) {
      // A folder on the way is not there yet, or is none: who makes something in it is told.
      if (!isNotThere(error)) throw error;
    }
  }

  /** What was made under a free name. What may be a stream is looked at. */
  made(path: MountPath): void {
    for (const place of doubtfulPlaces(path)) if (!mayBeStream(nameAt(place))) this.#keep(parentPath(place), [nameAt(place)]);
  }

  /** The name may be another one's from now on. */
  gone(path: MountPath): void {
    if (isDoubtfulEntry(path)) this.#kept.get(parentPath(path))?.names.delete(nameAt(path));
  }

  #isKnown(place: MountPath): boolean {
    const kept = this.#kept.get(parentPath(place));
    return kept !== undefined && kept.untilMs > performance.now() && kept.names.has(nameAt(place));
  }

  /** Whether a name is known as an entry's own without its folder. */
  async #isOwn(place: MountPath, options: CallOptions | undefined): Promise<boolean> {
    if (this.#isKnown(place)) return true;
    const owner = ownerOfStream(nameAt(place));
    if (owner === undefined || !isEntryName(owner)) return false;
    // Whoever may not look at that one has the folder listed.
    return this.#driver.stat(childPath(parentPath(place), owner), callOf(options)).then(() => false, isNotThere);
  }

  /** By whatever way: some servers look up what they list for one of them. */
  async #isThere(place: MountPath, options: CallOptions | undefined): Promise<boolean> {
    const call = callOf(options);
    for (const look of [() => this.#driver.stat(place, call), () => beginListing(this.#driver, place, call)]) {
      const isFound = await look().then(
        () => true,
        (error: unknown) => {
          if (AppError.is(error, 'ENTRY_NOT_FOUND')) return false;
          if (AppError.is(error, 'NOT_A_DIRECTORY')) return true;
          throw error;
        },
      );
      if (isFound) return true;
    }
    return false;
  }

  /** Many ask for names of one folder at a time: it is listed for all of them. */
  async #isListed(place: MountPath, options: CallOptions | undefined): Promise<boolean> {
    const [folder, wanted] = [parentPath(place), nameAt(place)];
    const signal = options?.signal ?? new AbortController().signal;
    // Whoever holds a connection would wait for itself, where a listing that others have begun waits for that.
    const isHolding = heldWhileOpen.getStore() !== undefined;
    const gather = (shared: AbortSignal) => this.#gather(folder, shared);
    const { names, isAll } = await (isHolding ? gather(signal) : this.#listing(folder, signal, gather));
    if (isAll || names.has(wanted)) return names.has(wanted);
    for await (const name of this.#doubtfulIn(folder, signal)) if (name === wanted) return true;
    return false;
  }

  /** @param most of so many entries alone. @returns no more than is kept of one folder */
  async #gather(folder: MountPath, signal: AbortSignal | undefined, most = Number.POSITIVE_INFINITY): Promise<Gathered> {
    const names = new Set<string>();
    const beganAt = performance.now();
    let bytes = 0;
    let isAll = true;
    for await (const name of this.#doubtfulIn(folder, signal, most)) {
      bytes += bytesOf(name);
      if (bytes > MAX_FOLDER_BYTES) isAll = false;
      else names.add(name);
    }
    this.#keep(folder, names, performance.now() - beganAt);
    return { names, isAll };
  }

  async *#doubtfulIn(folder: MountPath, signal: AbortSignal | undefined, most = Number.POSITIVE_INFINITY): AsyncGenerator<string, void> {
    let entries = 0;
    for await (const { name } of this.#driver.list(folder, { signal, seesAll: true })) {
      if (isDoubtfulName(name)) yield name;
      entries += 1;
      if (entries >= most) return;
    }
  }

  #keep(folder: MountPath, names: Iterable<string>, tookMs = 0): void {
    const now = performance.now();
    const before = this.#kept.get(folder);
    const isFresh = before !== undefined && before.untilMs > now;
    const all = isFresh ? before.names : new Set<string>();
    let bytes = isFresh ? before.bytes : FOLDER_BYTES + LETTER_BYTES * folder.length;
    for (const name of names) {
      if (all.has(name)) continue;
      bytes += bytesOf(name);
      all.add(name);
    }
    const untilMs = now + Math.min(MOST_LISTED_MS, Math.max(LISTED_MS, TIMES_AS_LONG * tookMs));
    // What was known before counts no longer than it did, or a folder that files come into all the time would be kept for ever.
    this.#kept.set(folder, { names: all, bytes, untilMs: isFresh && tookMs === 0 ? before.untilMs : untilMs });
  }
}

/** Something is there by a name that its folder does not list. */
class Unlisted extends Error {}

function unlistedStays(cause: unknown): AppError {
  return new AppError('FAILED_PRECONDITION', 'the storage finds something by this name, and does not list it: it stays', { cause });
}

/** The places on a path that have a doubtful name, from the top down. @param above those below this folder alone */
function doubtfulPlaces(path: MountPath, above?: MountPath): MountPath[] {
  if (above !== undefined && above === parentPath(path)) return isDoubtfulEntry(path) ? [path] : [];
  if (!hasDoubtfulName(path)) return [];
  let folder: MountPath = MOUNT_ROOT;
  return pathSegments(path).flatMap((name) => {
    folder = childPath(folder, name);
    return isDoubtfulName(name) ? [folder] : [];
  });
}

function isDoubtfulEntry(path: MountPath): boolean {
  return path !== MOUNT_ROOT && isDoubtfulName(nameAt(path));
}

function callOf(options: CallOptions | undefined): CallOptions {
  return options?.signal ? { signal: options.signal } : {};
}

function bytesOf(name: string): number {
  return NAME_BYTES + LETTER_BYTES * name.length;
}
