import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { type EntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath, ROOT_NAME } from '@wharf/paths';
import mime from 'mime-types';
import { z } from 'zod';
import { emptyContent, rangeContent } from '../../driver-contract/answers.ts';
import { beganElsewhere, placeMark, readBegun } from '../../driver-contract/begun-removal.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { isDraftId } from '../../driver-contract/draft.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { foldsCase } from '../../driver-contract/folding.ts';
import { KeyLanes } from '../../driver-contract/key-lanes.ts';
import type { ListingRoom } from '../../driver-contract/listing-room.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import type {
  ByteRange,
  CallOptions,
  DirectLink,
  Draft,
  DraftOptions,
  DriverTraits,
  Entry,
  FileContent,
  PlacedEntry,
  PlaceOptions,
  PublishOptions,
  RemoveOptions,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';
import { tooManyFolders } from '../../driver-contract/walk-bound.ts';
import { whileWanted } from '../../driver-contract/while-wanted.ts';
import { type Condition, type ListedObject, type ListedPage, PAGE_KEYS, payloadOf, S3Client } from './client.ts';
import type { S3Settings } from './config.ts';
import { foldsKeys } from './folds-keys.ts';
import { createKeys, type Keys, longestPath } from './keys.ts';
import { KnownFolders } from './known-folders.ts';
import { ListedTree } from './list-tree.ts';
import { createNotedUploads, type NotedUploads } from './noted-uploads.ts';
import { cutIntoParts, growingPartBytes, type Part, type PartHashes, type PartSource, partBytesOf } from './part-source.ts';
import { type DraftPlace, S3Draft } from './s3-draft.ts';
import { CLOCK_STEPS_MS, type ObjectHead, type Taken } from './store-clock.ts';
import { type DraftStore, StoredDraft, sweepDrafts } from './stored-draft.ts';
import { StoredKeys } from './stored-keys.ts';
import { copyParts, uploadParts } from './upload-parts.ts';

/** Folders have no date of their own in a bucket. */
/** The most that stores copy in one call: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html, and what a part has at least beyond. */
const COPY_LIMITS: CopyLimits = { wholeBytes: 5 * 1024 ** 3, partBytes: 512 * 1024 ** 2 };

interface CopyLimits {
  readonly wholeBytes: number;
  readonly partBytes: number;
}
/** Entries of one folder that may be removed at the same moment and leave it there. */
const MOST_REMOVED_AT_ONCE = 64;
/** Uploads under way in what is to be removed. Where there are more, it goes while the caller waits. */
const MAX_SPARED = 100;
const CLOCK_PAUSE_MS = 300;
const MAX_LOOKS_AT_CLOCK = 30;
/**
 * What is known of a removal that has begun: until when what it takes is dated, the keys of uploads that had not ended, and where that is. Earlier versions did
 * not note the last.
 */
const begunShape = z.object({ untilMs: z.number(), spared: z.array(z.string()), at: z.string().optional() });
type BegunRemoval = z.output<typeof begunShape>;
/** A look at a folder that others wait for takes so long at most, in milliseconds. */
const LOOK_MS = 30_000;
const FOLDER_TYPE = 'application/x-directory';
/**
 * Of something else at its place by then, before an object is put there without a condition: a proxy that gives up on a slow store and sends a put once more, and
 * keeps nothing of what is noted on objects, is refused each time for what the first one has stored.
 */
const MAX_REFUSALS = 5;

/** Which conditions a store takes, as it was tried. */
interface KnownConditions {
  readonly isNew: boolean;
  readonly over: boolean;
}
const NO_CONDITIONS: KnownConditions = { isNew: false, over: false };
/** How often it is tried whether what is there may be replaced. */
const TRIES = 2;

/** Of an object whose answer is not known: when it was taken. */
const NOT_TOLD = { sentAt: undefined, answeredAt: undefined, isWithin: false } as const;

/** Where a new file goes. */
interface Place {
  readonly path: MountPath;
  readonly key: string;
}

/** How the place of a new file is looked at. */
interface Look {
  /** The store itself refuses to replace a file. */
  readonly isExclusive?: boolean;
  /** One question more is little beside its content. */
  readonly isLarge?: boolean;
}

/** So long, in milliseconds, one waits for another that gets the same key. */
const PATIENCE_MS = 5_000;
/** Objects get their keys one after the other, also by another storage of the same bucket. */
const keysGiven = new KeyLanes(PATIENCE_MS);

/** A bucket, or what is below one prefix of its keys. Folders are what keys have in common, or are kept by an empty object. */
export class S3Driver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #settings: S3Settings;
  readonly #conditions: KnownConditions;
  readonly #copies: CopyLimits;
  readonly #room: ListingRoom;
  readonly #client: S3Client;
  readonly #keys: Keys;
  readonly #uploads: NotedUploads;
  readonly #known = new KnownFolders();
  readonly #stored = new StoredKeys();
  readonly #closing = new AbortController();
  /** Uploads that end and take back what they did. */
  readonly #ending = new Set<Promise<unknown>>();
  /** Looks at folders of which entries are about to go, by their prefix. */
  readonly #keeping = new Map<string, Promise<void>>();

  private constructor(settings: S3Settings, client: S3Client, conditions: KnownConditions, copies: CopyLimits, room: ListingRoom) {
    this.#conditions = conditions;
    this.#room = room;
    this.#settings = settings;
    this.#copies = copies;
    this.#client = client;
    this.#keys = createKeys(settings);
    this.#uploads = createNotedUploads(client, settings.keyPrefix, this.#closing.signal, room);
    this.traits = {
      caseSensitive: true,
      keepsEmptyDirectories: true,
      modTimeStepMs: undefined,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: conditions.isNew,
      copiesFolders: false,
      removesStepwise: true,
      maxPathBytes: longestPath(settings.keyPrefix),
      drafts: { order: 'any', readsBack: true },
    };
  }

  /** @param copies of stores of another kind, and of tests @throws AppError in words for the admin */
  static async open(settings: S3Settings, context: OpenContext, copies = COPY_LIMITS): Promise<S3Driver> {
    const { egress, signal, warn, storageId, listingRoom } = context;
    const client = new S3Client(settings, egress);
    try {
      await client.firstPage({ prefix: settings.keyPrefix, maxKeys: 1, signal }).catch((error: unknown) => {
        // The bucket is all that was asked for.
        throw AppError.is(error, 'ENTRY_NOT_FOUND')
          ? new AppError('FAILED_PRECONDITION', 'no store answers at this endpoint', { cause: error })
          : error;
      });
      const [conditions, folds] = await Promise.all([
        tryConditions(settings, client, storageId === 0, { signal }),
        foldsKeys(client, settings.keyPrefix, { signal }),
      ]);
      if (folds) throw foldsCase();
      const driver = new S3Driver(settings, client, conditions, copies, listingRoom);
      driver.#sweep().catch((error: unknown) => {
        if (!driver.#closing.signal.aborted) warn(error);
      });
      return driver;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    // It is there without a key. Whether the store is, only the store tells.
    if (path === MOUNT_ROOT) await this.#client.firstPage({ prefix: this.#settings.keyPrefix, maxKeys: 1, signal: options.signal });
    const file = await this.#findFile(path, options);
    if (file) return fileEntry(nameAt(path), file);
    if (await this.#isFolder(path, options)) return folderNamed(nameAt(path));
    throw storageError('ENTRY_NOT_FOUND');
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    const prefix = this.#keys.folderPrefix(directory);
    if (prefix === undefined) throw storageError('ENTRY_NOT_FOUND');
    using seen = new NameSet();
    let isThere = directory === MOUNT_ROOT;
    for await (const page of this.#client.pages({ prefix, delimiter: '/', ...options })) {
      isThere ||= !isEmpty(page);
      for (const entry of this.#entriesOf(page, prefix)) {
        if (!seen.shows(entry, options)) continue;
        yield entry;
        this.#begin(options);
      }
    }
    if (!isThere) throw storageError((await this.#findFile(directory, options)) ? 'NOT_A_DIRECTORY' : 'ENTRY_NOT_FOUND');
  }

  /** Of all keys, without a delimiter: a thousand entries for a call, however many folders they are in. */
  async *listAll(directory: MountPath, options: CallOptions = {}): AsyncGenerator<PlacedEntry, void> {
    this.#begin(options);
    const prefix = this.#keys.folderPrefix(directory);
    if (prefix === undefined) throw storageError('ENTRY_NOT_FOUND');
    const pace = createPace(options.signal);
    const share = this.#room.enter(tooManyFolders);
    using tree = new ListedTree(this.#keys, { file: fileEntry, folder: folderNamed }, directory, prefix, share.take);
    let isThere = directory === MOUNT_ROOT;
    try {
      for await (const page of this.#client.pages({ prefix, ...options })) {
        isThere ||= !isEmpty(page);
        for (const object of page.objects) {
          await pace.step();
          for (const placed of tree.entriesOf(object)) {
            yield placed;
            this.#begin(options);
          }
        }
      }
    } finally {
      share.leave();
    }
    if (!isThere) throw storageError((await this.#findFile(directory, options)) ? 'NOT_A_DIRECTORY' : 'ENTRY_NOT_FOUND');
  }

  async read(path: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const key = this.#keys.fileKey(path);
    if (key === undefined) throw storageError((await this.#isFolder(path, options)) ? 'IS_A_DIRECTORY' : 'ENTRY_NOT_FOUND');
    const { offsetBytes = 0, lengthBytes } = range ?? {};
    try {
      // What is no range of at least one byte is judged by the size.
      if (!Number.isSafeInteger(offsetBytes) || offsetBytes < 0 || (lengthBytes !== undefined && !(lengthBytes >= 1))) {
        throw storageError('RANGE_NOT_SATISFIABLE');
      }
      const end = lengthBytes === undefined ? undefined : Math.min(Number.MAX_SAFE_INTEGER, offsetBytes + lengthBytes);
      const body = await this.#client.get(key, offsetBytes, end, options);
      return rangeContent(fileEntry(nameAt(path), body), body, options);
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND') && (await this.#isFolder(path, options))) throw storageError('IS_A_DIRECTORY');
      if (!AppError.is(error, 'RANGE_NOT_SATISFIABLE')) throw error;
    }
    const entry = await this.stat(path, options);
    if (entry.isDirectory) throw storageError('IS_A_DIRECTORY');
    const { start, end } = resolveRange(range, entry.sizeBytes ?? 0);
    if (start < end) throw storageError('STORAGE_UNAVAILABLE');
    return emptyContent(entry, options);
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    this.#begin(options);
    const key = this.#newKey(path, this.#keys.fileKey(path), options);
    const { sizeBytes } = options;
    const stop = new AbortController();
    const forward = () => stop.abort(options.signal?.reason);
    const close = () => stop.abort(storageError('STORAGE_UNAVAILABLE'));
    options.signal?.addEventListener('abort', forward, { once: true });
    this.#closing.signal.addEventListener('abort', close, { once: true });
    const source = cutIntoParts(verifiedContent(content, { ...options, signal: stop.signal }), {
      sizeBytes,
      partBytes: sizeBytes === undefined ? growingPartBytes : () => partBytesOf(sizeBytes),
      caller: options.caller,
      onProgress: options.onProgress,
      hashes: this.#hashes(),
    });
    let taken: Taken;
    try {
      throwIfAborted(options.signal);
      const first = await source.next(stop.signal);
      const place = { path, key };
      taken = first.isLast
        ? await this.#putWhole(place, first, options, stop.signal)
        : await this.#putInParts(place, first, source, options, stop);
    } catch (error) {
      stop.abort(error);
      throw error;
    } finally {
      options.signal?.removeEventListener('abort', forward);
      this.#closing.signal.removeEventListener('abort', close);
      await source.end();
    }
    this.#known.made(this.#keys.keysAbove(path));
    return fileEntry(nameAt(path), await this.#client.headOfTaken(key, taken, options));
  }

  async makeDirectory(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    if (path === MOUNT_ROOT) return folderNamed(ROOT_NAME);
    const prefix = this.#keys.folderPrefix(path);
    const key = this.#keys.fileKey(path);
    if (prefix === undefined || key === undefined) throw storageError('INVALID_ARGUMENT');
    const [file] = await Promise.all([this.#client.findHead(key, options), this.#checkAbove(path, options)]);
    if (file) throw storageError('ENTRY_EXISTS');
    await options.afterWaiting?.();
    // Also one that is there: a removal that has begun may be about to take it away, and leaves what was made since.
    await this.#keepFolder(prefix, options);
    this.#known.made([...this.#keys.keysAbove(path), key]);
    return folderNamed(nameAt(path));
  }

  async remove(path: MountPath, options: RemoveOptions): Promise<void> {
    try {
      await this.#remove(path, options);
    } finally {
      this.#known.clear();
    }
  }

  async #remove(path: MountPath, options: RemoveOptions): Promise<void> {
    this.#begin(options);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    const prefix = this.#keys.folderPrefix(path);
    const key = this.#keys.fileKey(path);
    if (key === undefined) throw storageError('ENTRY_NOT_FOUND');
    if (options.onlyIf && !options.onlyIf.isDirectory) return this.#removeIf(path, key, options.onlyIf, options);
    const begun = options.begun === undefined ? undefined : readBegun(begunShape, options.begun);
    if (begun && begun.at !== this.#markOf(key)) throw beganElsewhere();
    using watch = this.#stored.watch();
    const file = await this.#client.findHead(key, options);
    if (file) {
      requireUnchanged(options.onlyIf, fileEntry(nameAt(path), file));
      await this.#keepParent(path, options);
      await options.afterWaiting?.();
      if (!begun) return this.#removeSeen(key, file, options);
      // What was asked may have taken long, and another process have stored something since.
      const now = await this.#client.head(key, options);
      const remove = () => this.#client.deleteVersion(key, now.version, options);
      const isGone = isDoomed({ ...now, key }, begun) && (await watch.remove([key], remove)) > 0;
      if (!isGone) throw storageError('STALE_VERSION');
      return;
    }
    if (prefix === undefined || !(await this.#isFolder(path, options))) throw storageError('ENTRY_NOT_FOUND');
    const own = new Set([prefix, this.#keys.placeholderKey(prefix)]);
    if (!options.recursive) {
      const { objects } = await this.#client.firstPage({ prefix, maxKeys: own.size + 1, signal: options.signal });
      if (objects.some((object) => !own.has(object.key))) throw storageError('DIRECTORY_NOT_EMPTY');
    }
    await this.#keepParent(path, options);
    await options.afterWaiting?.();
    if (!options.recursive) return this.#client.deleteMany([...own], options);
    await this.#removePages(prefix, begun, options);
  }

  /** @throws AppError STALE_VERSION: something is left that came since the removal began */
  async #removePages(prefix: string, begun: BegunRemoval | undefined, options: RemoveOptions): Promise<void> {
    const pages = this.#client.pages({ prefix, signal: options.signal });
    let [removed, stayed] = [0, 0];
    // Keys of folders that go on on the next page. Other programs made them: nothing is stored under such a key meanwhile by this one.
    let held: readonly string[] = [];
    for (let isMore = true; isMore; ) {
      // Before the page is asked for: what is stored while that takes its time is seen on it.
      await options.beforeStep?.(removed);
      using seen = this.#stored.watch();
      const { value: page, done } = await pages.next();
      if (done) break;
      isMore = !page.isLast;
      const [last, found] = [page.objects.at(-1)?.key ?? '', page.objects.filter((object) => !begun || isDoomed(object, begun))];
      const known = [...held, ...found.map((object) => object.key)];
      held = isMore ? known.filter((key) => key.endsWith('/') && last.startsWith(key)) : [];
      const doomed = held.length > 0 ? known.filter((key) => !held.includes(key)) : known;
      const remove = (keys: readonly string[]) => this.#client.deleteMany(keys, options);
      const gone = begun ? await seen.remove(doomed, remove) : await remove(doomed).then(() => doomed.length);
      removed += gone;
      stayed += page.objects.length - found.length + doomed.length - gone;
    }
    if (stayed > 0) throw storageError('STALE_VERSION');
  }

  async beginRemoval(paths: readonly MountPath[], options: CallOptions = {}): Promise<readonly (string | undefined | AppError)[]> {
    this.#begin(options);
    const untilMs = await endOfNow(this.#client, this.#keys.placeholderKey(this.#settings.keyPrefix), options);
    // Stores may date a file by when its upload in parts began: what is under way by now is not there yet.
    const underWay = await this.#uploads.keysUnderWay(options);
    const begin = (path: MountPath) => {
      if (path === MOUNT_ROOT) return storageError('INVALID_ARGUMENT');
      const key = this.#keys.fileKey(path);
      if (key === undefined) return storageError('ENTRY_NOT_FOUND');
      const below = `${key}/`;
      const spared = underWay?.filter((each) => each === key || each.startsWith(below));
      return spared && spared.length <= MAX_SPARED
        ? JSON.stringify({ untilMs, spared, at: this.#markOf(key) } satisfies BegunRemoval)
        : storageError('UNSUPPORTED_OPERATION');
    };
    const begun: (string | AppError)[] = [];
    // There may be ten thousand paths, and a thousand uploads under way.
    const pace = createPace(options.signal);
    for (const path of paths) {
      begun.push(begin(path));
      await pace.step();
    }
    return begun;
  }

  /** With the login: in some stores buckets of two tenants have one name. */
  #markOf(key: string): string {
    const { endpoint, bucket, accessKeyId } = this.#settings;
    return placeMark(endpoint.href, bucket, accessKeyId, key);
  }

  /** As it was looked at: what the store carries out late, or a proxy sends twice, removes nothing that was stored since. @throws AppError STALE_VERSION: something else is there */
  async #removeSeen(key: string, seen: ObjectHead, options: CallOptions): Promise<void> {
    try {
      await this.#client.deleteVersion(key, seen.version, options);
    } catch (error) {
      if (!mayBeOfCondition(error) || !isSame(seen, await this.#client.findHead(key, options))) throw error;
      // As it was: it is not the condition that does not hold.
      await this.#client.delete(key, options);
    }
  }

  /** The look comes last, for stores that pass over the condition. */
  async #removeIf(path: MountPath, key: string, before: Entry, options: RemoveOptions): Promise<void> {
    await this.#keepParent(path, options);
    const head = await this.#client.findHead(key, options);
    if (!head) throw storageError((await this.#isFolder(path, options)) ? 'STALE_VERSION' : 'ENTRY_NOT_FOUND');
    requireUnchanged(before, fileEntry(nameAt(path), head));
    await options.afterWaiting?.();
    await this.#client.deleteVersion(key, head.version, options);
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    this.#begin(options);
    const source = await this.#findFile(from, options);
    if (!source && !(await this.#isFolder(from, options))) throw storageError('ENTRY_NOT_FOUND');
    if (from === to) throw storageError('ENTRY_EXISTS');
    if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    if (!source) throw storageError('UNSUPPORTED_OPERATION');
    const [fromKey, key] = [this.#keys.fileKey(from), this.#newKey(to, this.#keys.fileKey(to), options)];
    if (fromKey === undefined) throw storageError('ENTRY_NOT_FOUND');
    const above = parentPath(to);
    const [isBelowFolder] = await Promise.all([this.#isFolder(above, options), this.#checkPlace(to, key, options)]);
    if (!isBelowFolder) throw storageError('ENTRY_NOT_FOUND');
    await options.afterWaiting?.();
    const taken = await this.#copyObject(fromKey, source, { path: to, key }, options);
    this.#known.made(this.#keys.keysAbove(to));
    return fileEntry(nameAt(to), await this.#client.headOfTaken(key, taken, options));
  }

  async link(path: MountPath, options: CallOptions = {}): Promise<DirectLink> {
    this.#begin(options);
    const key = this.#keys.fileKey(path);
    if (key === undefined) throw storageError('ENTRY_NOT_FOUND');
    const { namesFile, expirySeconds } = this.#settings.links;
    const { url, isSigned } = this.#client.presign(key, { contentType: contentType(key), fileName: namesFile ? nameAt(path) : undefined });
    return { url, ...(isSigned && { expiresAt: new Date(Date.now() + expirySeconds * 1000) }) };
  }

  async close(): Promise<void> {
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    await Promise.allSettled(this.#ending);
    this.#client.close();
  }

  async openDraft(path: MountPath, id: string, options: DraftOptions): Promise<Draft> {
    this.#begin(options);
    if (!isDraftId(id)) throw storageError('ENTRY_NOT_FOUND');
    const key = this.#newKey(path, this.#keys.fileKey(path), { overwrite: true });
    const store = this.#drafts();
    if (options.create) await this.#makeFoldersAbove(path, options);
    const file = { sizeBytes: options.sizeBytes ?? 0, contentType: contentType(key), isNew: this.traits.exclusiveCreate };
    const stored = await (options.create ? StoredDraft.make(store, id, file, options) : StoredDraft.find(store, id, options));
    const place: DraftPlace = {
      hashes: store.hashes,
      closing: this.#closing.signal,
      read: (draft, call) => this.#readObject(draft.wholeKey, call),
      publish: (draft, call) => this.#publishDraft(draft, { path, key }, call),
    };
    return new S3Draft(place, stored);
  }

  async #sweep(): Promise<void> {
    const options = { signal: this.#closing.signal };
    await this.#uploads.sweep(options);
    await sweepDrafts(this.#drafts(), options);
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#closing.signal.aborted) throw storageError('STORAGE_UNAVAILABLE');
  }

  async #findFile(path: MountPath, options: CallOptions): Promise<ObjectHead | undefined> {
    const key = this.#keys.fileKey(path);
    return key === undefined ? undefined : this.#client.findHead(key, options);
  }

  async #isFolder(path: MountPath, { signal }: CallOptions): Promise<boolean> {
    if (path === MOUNT_ROOT) return true;
    const prefix = this.#keys.folderPrefix(path);
    return prefix !== undefined && !isEmpty(await this.#client.firstPage({ prefix, maxKeys: 1, signal }));
  }

  *#entriesOf({ objects, prefixes }: ListedPage, prefix: string): Generator<Entry, void> {
    for (const object of objects) {
      const name = this.#keys.nameBelow(prefix, object.key);
      if (name !== undefined) yield fileEntry(name, object);
    }
    for (const common of prefixes) {
      const name = common.endsWith('/') ? this.#keys.nameBelow(prefix, common.slice(0, -1)) : undefined;
      if (name !== undefined) yield folderNamed(name);
    }
  }

  /** @throws AppError IS_A_DIRECTORY | ENTRY_EXISTS (the root) | INVALID_ARGUMENT (no key is like that) */
  #newKey(path: MountPath, key: string | undefined, { overwrite }: PlaceOptions): string {
    if (path === MOUNT_ROOT) throw storageError(overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    if (key === undefined) throw storageError('INVALID_ARGUMENT');
    return key;
  }

  /**
   * That a new file may have its name.
   *
   * @param asksForFile false: a file that has the name is no hindrance, or the store refuses it by itself
   * @returns the file that it replaces, where that was asked for
   * @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY | NOT_A_DIRECTORY
   */
  async #checkPlace(
    path: MountPath,
    key: string,
    options: PlaceOptions,
    asksForFile = !options.overwrite,
  ): Promise<ObjectHead | undefined> {
    const [file, isFolder] = await Promise.all([
      asksForFile ? this.#client.findHead(key, options) : undefined,
      this.#isTakenByFolder(path, key, options),
      this.#checkAbove(path, options),
    ]);
    if (!isFolder) this.#known.forget(key);
    if ((file || isFolder) && !options.overwrite) throw storageError('ENTRY_EXISTS');
    if (isFolder && !file && (asksForFile || !(await this.#client.findHead(key, options)))) throw storageError('IS_A_DIRECTORY');
    return file;
  }

  /**
   * That no folder above is a file. The deepest that is there is looked for by halves: below it is nothing yet but, perhaps, a file of the next name, and
   * both are looked at on the way. Files that come into one folder in a row need one look at it.
   */
  async #checkAbove(path: MountPath, options: CallOptions): Promise<void> {
    const keys = this.#keys.keysAbove(path);
    const above = keys.at(-1) ?? '';
    if (this.#known.has(above)) return;
    // The root is always there.
    if (keys.length === 0) return this.#known.note(above);
    let [there, missing] = [-1, keys.length];
    // In most cases the folder right above is there.
    for (let at = missing - 1; there + 1 < missing; at = (there + missing) >> 1) {
      const key = keys[at] ?? '';
      const [file, below] = await Promise.all([
        this.#client.findHead(key, options),
        this.#client.firstPage({ prefix: `${key}/`, maxKeys: 1, signal: options.signal }),
      ]);
      if (file) throw storageError('NOT_A_DIRECTORY');
      if (isEmpty(below)) missing = at;
      else there = at;
    }
    if (there === keys.length - 1) this.#known.note(above);
  }

  /** Of the files that come into one folder in a row the second has all the names of folders there told, where one page holds them. */
  async #isTakenByFolder(path: MountPath, key: string, options: CallOptions): Promise<boolean> {
    const above = parentPath(path);
    const folders = await this.#known.foldersIn(this.#keys.keysAbove(path).at(-1) ?? '', async () => {
      const prefix = this.#keys.folderPrefix(above);
      if (prefix === undefined) return undefined;
      const page = await this.#client.firstPage({ prefix, delimiter: '/', maxKeys: PAGE_KEYS, signal: options.signal });
      return page.isLast ? new Set(page.prefixes.map((common) => common.slice(0, -1))) : undefined;
    });
    return folders === undefined ? this.#isFolder(path, options) : folders.has(key);
  }

  /** What was seen of the folder that an entry goes into no longer counts: while bytes were sent, others may have changed it. */
  #lookAnew(path: MountPath): void {
    this.#known.forget(this.#keys.keysAbove(path).at(-1) ?? '');
  }

  async #makeFoldersAbove(path: MountPath, options: CallOptions): Promise<void> {
    const above = parentPath(path);
    const [isThere] = await Promise.all([this.#isFolder(above, options), this.#checkAbove(path, options)]);
    const prefix = this.#keys.folderPrefix(above);
    if (!isThere && prefix !== undefined) await this.#keepFolder(prefix, options);
    this.#known.made(this.#keys.keysAbove(path));
  }

  #drafts(): DraftStore {
    return { client: this.#client, keyPrefix: this.#settings.keyPrefix, hashes: this.#hashes(), room: this.#room };
  }

  #hashes(): PartHashes {
    return { sha256: this.#settings.endpoint.protocol === 'http:', md5: this.#settings.sendsMd5 };
  }

  async #publishDraft(draft: StoredDraft, place: Place, options: PublishOptions): Promise<Entry> {
    const { path, key } = place;
    this.#newKey(path, key, options);
    await this.#checkPlace(path, key, options);
    const whole = await draft.seal(options);
    await draft.notePublishing(key, await this.#client.findHead(key, options), options);
    this.#lookAnew(path);
    const before = await this.#mayPublish(place, options);
    const taken = await this.#copyObject(draft.wholeKey, whole, place, options, before);
    this.#known.made(this.#keys.keysAbove(path));
    const entry = fileEntry(nameAt(path), await this.#client.headOfTaken(key, taken, options));
    await this.#takeBack(draft.remove());
    return entry;
  }

  async *#readObject(key: string, options: CallOptions): AsyncGenerator<Uint8Array, void> {
    const body = await this.#client.get(key, 0, undefined, options);
    yield* rangeContent(fileEntry(ROOT_NAME, body), body, options);
  }

  /** Has the store copy an object, with what is noted on it. @param before what had the name, where that was asked */
  async #copyObject(from: string, source: ObjectHead, place: Place, options: PublishOptions, before?: ObjectHead): Promise<Taken> {
    const { key } = place;
    const isNew = !options.overwrite && this.traits.exclusiveCreate;
    if (source.sizeBytes <= this.#copies.wholeBytes) {
      return this.#naming(place, options, {}, before, async () => {
        try {
          return await this.#client.copy(from, source, key, isNew, options);
        } catch (error) {
          // The source changed, or something has the name.
          if (!isNew || !AppError.is(error, 'STALE_VERSION') || !(await this.#client.findHead(key, options))) throw error;
          throw storageError('ENTRY_EXISTS', error);
        }
      });
    }
    const upload = await this.#uploads.begin(key, { contentType: contentType(key), draftId: source.draftId }, options);
    try {
      const parts = await copyParts({ client: this.#client, key, uploadId: upload.id }, from, source, this.#copies.partBytes, options);
      const now = await this.#mayPublish(place, options);
      return await this.#naming(place, options, {}, now, () => exclusively(upload.complete(parts, { isNew }, options)));
    } catch (error) {
      await this.#takeBack(upload.abort());
      throw error;
    }
  }

  /**
   * Gives an object its key, one at a time in this process: some stores heed no condition of a copy, or of the end of an upload in parts. What they decide by
   * themselves waits for no other such: a store may take minutes for it. What does not replace looks once more, right before; and what had to wait looks and asks
   * anew. It has asked before: what that holds is never waited for under a key.
   *
   * @param before what had the name at the last look
   * @throws AppError as #checkPlace; OVERLOADED: another one gets it for long, as a copy may, and who waits has a turn of the storage; tasks wait on
   */
  #naming(
    place: Place,
    options: PublishOptions,
    look: Look,
    before: ObjectHead | undefined,
    store: (before: ObjectHead | undefined) => Promise<Taken>,
  ): Promise<Taken> {
    const { key } = place;
    const { endpoint, bucket } = this.#settings;
    const isDecided = look.isExclusive === true && this.#conditions.over;
    return keysGiven.run(`${endpoint.href}\n${bucket}\n${key}`, options, isDecided, async (hasWaited) => {
      const there = hasWaited ? await this.#mayPublish(place, options, look) : before;
      const looks = !hasWaited && !options.overwrite && !look.isExclusive;
      if (looks && (await this.#client.findHead(key, options))) throw storageError('ENTRY_EXISTS');
      return this.#stored.storing(key, async () => ({ before: there, ...(await store(there)) }));
    });
  }

  /**
   * The last look at the place, and the question: until nothing else has the name afterwards than before.
   *
   * @returns what has the name, where that was asked
   * @throws AppError as #checkPlace
   */
  async #mayPublish({ path, key }: Place, options: PublishOptions, { isExclusive, isLarge }: Look = {}): Promise<ObjectHead | undefined> {
    const asksForFile = isLarge || options.beforePublish !== undefined || !(options.overwrite || isExclusive);
    let there = await this.#checkPlace(path, key, options, asksForFile);
    for (let isAnswered = !options.beforePublish; !isAnswered; ) {
      await options.beforePublish?.();
      const before = there;
      there = await this.#checkPlace(path, key, options, asksForFile);
      isAnswered = isSame(before, there);
    }
    await options.afterWaiting?.();
    return there;
  }

  /**
   * Gives an object its key. What replaces something says what that is, where it was looked at: so what a store carries out late, when whoever sent it is gone
   * and another one has gone on with the work, replaces nothing that was stored since. Where something else is there by then, who is still here looks and asks
   * again.
   */
  async #publish(place: Place, options: WriteOptions, isLarge: boolean, store: (condition: Condition) => Promise<Taken>): Promise<Taken> {
    const { exclusiveCreate } = this.traits;
    const look = { isExclusive: exclusiveCreate && !isLarge, isLarge };
    return this.#naming(place, options, look, await this.#mayPublish(place, options, look), async (there) => {
      if (!options.overwrite) return exclusively(store({ isNew: exclusiveCreate }));
      let [before, isTold] = [there, isLarge || options.beforePublish !== undefined];
      for (let refusals = 0; ; refusals += 1) {
        const known = before ? this.#conditions.over : exclusiveCreate;
        const isConditional = isTold && known && refusals < MAX_REFUSALS;
        const condition = before ? { over: before.version } : { isNew: true };
        try {
          return { ...(await store(isConditional ? condition : {})), before };
        } catch (error) {
          if (!isConditional || !mayBeOfCondition(error)) throw orExists(error);
          const seen = before;
          before = await this.#mayPublish(place, options, look);
          // As it was: it is not the condition that does not hold.
          isTold = !isSame(seen, before);
        }
      }
    });
  }

  async #putWhole(place: Place, part: Part, options: WriteOptions, signal: AbortSignal): Promise<Taken> {
    const { key } = place;
    const { onProgress } = options;
    const own = { contentType: contentType(key), draftId: randomUUID() };
    const put = async (condition: Condition): Promise<Taken> => {
      const isConditional = condition.isNew || condition.over !== undefined;
      const object = isConditional ? own : { contentType: own.contentType };
      try {
        return await this.#client.put(key, part, object, condition, { signal, onProgress });
      } catch (error) {
        if (!isConditional || !AppError.is(error, 'STALE_VERSION')) throw error;
        // A proxy may have sent it twice: then it is refused for what it has stored itself.
        const there = await this.#client.findHead(key, options);
        if (there?.draftId !== own.draftId) throw error;
        return { ...NOT_TOLD, version: there.version, sizeBytes: part.bytes.byteLength };
      }
    };
    try {
      return await this.#publish(place, options, false, put);
    } finally {
      part.release();
    }
  }

  async #putInParts(place: Place, first: Part, source: PartSource, options: WriteOptions, stop: AbortController): Promise<Taken> {
    const { key } = place;
    const { signal } = stop;
    const upload = await this.#checkPlace(place.path, key, options)
      .then(() => this.#uploads.begin(key, { contentType: contentType(key) }, { signal }))
      .catch((error: unknown) => {
        first.release();
        throw error;
      });
    try {
      const parts = await uploadParts({ client: this.#client, key, uploadId: upload.id }, first, source, stop, options.onProgress);
      this.#lookAnew(place.path);
      return await this.#publish(place, options, true, (condition) => upload.complete(parts, condition, { signal }));
    } catch (error) {
      await this.#takeBack(upload.abort());
      throw error;
    }
  }

  /** What cannot be taken back is swept when this process has ended. */
  async #takeBack(ending: Promise<void>): Promise<void> {
    const quiet = ending.catch(() => undefined);
    this.#ending.add(quiet);
    await quiet;
    this.#ending.delete(quiet);
  }

  async #keepFolder(prefix: string, options: CallOptions): Promise<void> {
    const key = this.#keys.placeholderKey(prefix);
    await this.#stored.storing(key, () => this.#client.put(key, payloadOf('', false), { contentType: FOLDER_TYPE }, {}, options));
  }

  /** A folder stays when its last entry goes. It is kept before that, while others may go at the same moment. */
  async #keepParent(path: MountPath, { signal }: CallOptions): Promise<void> {
    const above = parentPath(path);
    const prefix = above === MOUNT_ROOT ? undefined : this.#keys.folderPrefix(above);
    if (prefix === undefined) return;
    let kept = this.#keeping.get(prefix);
    if (kept === undefined) {
      const within = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LOOK_MS)]);
      kept = this.#keepSmall(prefix, { signal: within }).finally(() => this.#keeping.delete(prefix));
      this.#keeping.set(prefix, kept);
    }
    await whileWanted(kept, signal);
  }

  /** Entries that go together need one look at their folder. */
  async #keepSmall(prefix: string, options: CallOptions): Promise<void> {
    const { objects, prefixes, isLast } = await this.#client.firstPage({
      prefix,
      delimiter: '/',
      maxKeys: MOST_REMOVED_AT_ONCE,
      ...options,
    });
    const own = this.#keys.placeholderKey(prefix);
    const count = objects.length + prefixes.length;
    // A store may answer with fewer than there are. Where there is none nothing is to go, and no folder is made.
    const isSmall = isLast ? count > 0 : count < 2;
    if (isSmall && !objects.some(({ key }) => key === own)) await this.#keepFolder(prefix, options);
  }
}

/**
 * Whether the store refuses to make an object that is there, and lets one be replaced that is as it is said to be. Tried with the one that keeps the root: it
 * is empty and hidden, so it may be made, and made again.
 *
 * @param leavesNothing for a storage that is only tried
 */
async function tryConditions(
  settings: S3Settings,
  client: S3Client,
  leavesNothing: boolean,
  options: CallOptions,
): Promise<KnownConditions> {
  const key = createKeys(settings).placeholderKey(settings.keyPrefix);
  const make = (condition: Condition) => client.put(key, payloadOf('', false), { contentType: FOLDER_TYPE }, condition, options);
  const outcomeOf = (condition: Condition) =>
    make(condition).then(
      () => 'made',
      (error: unknown) => (AppError.is(error, 'STALE_VERSION') ? 'refused' : 'failed'),
    );
  try {
    const there = await client.findHead(key, options);
    if (there && there.sizeBytes > 0) return NO_CONDITIONS;
    const { version } = there ?? (await make({}));
    const isNew = (await outcomeOf({ isNew: true })) === 'refused';
    let over = false;
    // Some stores compare it with its quotes. Another replica may try at this moment, and have replaced it: then once more.
    for (let [known, tries] = [version, 0]; isNew && !over && known !== undefined && tries < TRIES; tries += 1) {
      const outcome = await outcomeOf({ over: known });
      over = outcome === 'made';
      known = outcome === 'refused' ? (await client.findHead(key, options).catch(() => undefined))?.version : undefined;
    }
    if (!there && leavesNothing) await client.delete(key, options);
    return { isNew, over };
  } catch {
    throwIfAborted(options.signal);
    // Whoever may not write finds out with the first write.
    return NO_CONDITIONS;
  }
}

/**
 * The date that a store gives at this moment, once it surely gives a later one. Told by the object that keeps the root, so that it is the clock by which objects
 * are dated.
 *
 * @throws AppError UNSUPPORTED_OPERATION: it cannot be told
 */
async function endOfNow(client: S3Client, key: string, options: CallOptions): Promise<number> {
  const date = async () => {
    await client.put(key, payloadOf('', false), { contentType: FOLDER_TYPE }, {}, options);
    return (await client.head(key, options)).modifiedAt.getTime();
  };
  try {
    const there = await client.findHead(key, options);
    if (there && there.sizeBytes > 0) throw storageError('UNSUPPORTED_OPERATION');
    const now = await date();
    for (let looks = 0; looks < MAX_LOOKS_AT_CLOCK; looks += 1) {
      await wait(CLOCK_PAUSE_MS);
      throwIfAborted(options.signal);
      if ((await date()) >= now + CLOCK_STEPS_MS) return now;
    }
  } catch (error) {
    // Whoever may remove, and not write; a bucket that is full.
    if (!AppError.is(error, 'PERMISSION_DENIED') && !AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
  }
  throw storageError('UNSUPPORTED_OPERATION');
}

/** Whether an object was there when its removal began. */
function isDoomed({ key, modifiedAt }: ListedObject, { untilMs, spared }: BegunRemoval): boolean {
  return modifiedAt.getTime() <= untilMs && !spared.includes(key);
}

/** Whether a store may have refused a call for its condition: it does not hold, or the store has none like that. */
function mayBeOfCondition(error: unknown): boolean {
  const codes = ['STALE_VERSION', 'ENTRY_NOT_FOUND', 'UNSUPPORTED_OPERATION', 'INVALID_ARGUMENT', 'INTERNAL'] as const;
  return codes.some((code) => AppError.is(error, code));
}

function orExists(error: unknown): unknown {
  return AppError.is(error, 'STALE_VERSION') ? storageError('ENTRY_EXISTS', error) : error;
}

async function exclusively<Result>(publishing: Promise<Result>): Promise<Result> {
  try {
    return await publishing;
  } catch (error) {
    throw orExists(error);
  }
}

function isEmpty({ objects, prefixes }: ListedPage): boolean {
  return objects.length + prefixes.length === 0;
}

function isSame(one: ObjectHead | undefined, other: ObjectHead | undefined): boolean {
  return (
    one?.version === other?.version && one?.sizeBytes === other?.sizeBytes && one?.modifiedAt.getTime() === other?.modifiedAt.getTime()
  );
}

function contentType(key: string): string {
  return mime.lookup(key) || 'application/octet-stream';
}

function fileEntry(name: EntryName, { sizeBytes, modifiedAt, version }: ObjectHead): Entry {
  return { name, isDirectory: false, sizeBytes, modifiedAt, version };
}
