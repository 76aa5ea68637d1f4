import { AppError } from '@wharf/errors';
import { type EntryName, isEntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath } from '@wharf/paths';
import { emptyContent, rangeContent } from '../../driver-contract/answers.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type Call, Calls } from '../../driver-contract/calls.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { PathLocks } from '../../driver-contract/path-locks.ts';
import { findRenamed, findReplaced, removeReally } from '../../driver-contract/really-renamed.ts';
import { createSeenFolders } from '../../driver-contract/seen-folders.ts';
import type {
  ByteRange,
  CallOptions,
  DirectLink,
  DriverTraits,
  Entry,
  FileContent,
  PlaceOptions,
  RemoveOptions,
  Space,
  StorageDriver,
  StorageThumbnail,
  ThumbnailOptions,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { badAnswer, isAway, Lost, rootIsGone, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { TempFiles } from '../../driver-contract/temp-files.ts';
import { checkReachable, checkUnreserved, isReservedName } from '../../driver-contract/temp-names.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { sentContent } from '../../driver-contract/verified-content.ts';
import { type ChunkedUploads, findChunkedUploads } from './chunked-uploads.ts';
import { type Place, type Quota, WebdavClient } from './client.ts';
import type { WebdavSettings } from './config.ts';
import { type Previews, previewsOf } from './previews.ts';
import { probeServer, type Replacing, type ServerTraits } from './probe-server.ts';
import { removeOnce, removeSurely } from './remove-surely.ts';
import { asideFolders, moveToFree, replaceAside, wasReplaced } from './replace.ts';
import { isSame, type Resource } from './resources.ts';

/** So often the name may be given to something else between a question and its answer, or a look and a move. */
const MAX_TRIES = 100;

/** What was written right before it gets its name is dated no longer ago, in milliseconds, where nobody gave it a date and clocks agree. */
const NEW_WITHIN_MS = 2_000;

/** What a server can do. */
interface Server extends ServerTraits {
  readonly quota: Quota | undefined;
  readonly chunked: ChunkedUploads | undefined;
  readonly previews: Previews | undefined;
}

type Publishing = Pick<WriteOptions, 'overwrite' | 'beforePublish'>;

/** What has been put in a place of ours. */
interface Filled {
  readonly isFolder: boolean;
  /** Undefined: not known. */
  readonly sizeBytes: number | undefined;
  /** A look there has shown that it is whole. */
  readonly isWhole?: boolean;
}

/** A folder of a WebDAV server. README tells the whole. */
export class WebdavDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly link?: NonNullable<StorageDriver['link']>;
  readonly space?: NonNullable<StorageDriver['space']>;
  readonly thumbnail?: NonNullable<StorageDriver['thumbnail']>;
  readonly #client: WebdavClient;
  readonly #calls: Calls;
  readonly #temps: TempFiles;
  readonly #locks: PathLocks;
  readonly #chunked: ChunkedUploads | undefined;
  readonly #replacing: Replacing;
  readonly #seen = createSeenFolders<MountPath>();

  private constructor(client: WebdavClient, calls: Calls, temps: TempFiles, server: Server, locks: PathLocks) {
    const { quota, chunked, previews } = server;
    this.#client = client;
    this.#chunked = chunked;
    this.#replacing = server.replacing;
    this.#calls = calls;
    this.#temps = temps;
    this.#locks = locks;
    this.traits = {
      caseSensitive: true,
      keepsEmptyDirectories: true,
      modTimeStepMs: server.keepsDates ? 1000 : undefined,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: false,
      copiesFolders: true,
      ...(!server.takesUnknownSizes && { needsSize: true }),
    };
    if (quota !== undefined) this.space = (options) => this.#space(options);
    if (previews) this.thumbnail = (file, options) => this.#thumbnail(previews, file, options);
    if (!client.hasLogin) this.link = (file, options) => this.#link(file, options);
  }

  /** @throws AppError STORAGE_LOGIN_FAILED | FAILED_PRECONDITION (no such folder; the server cannot be used), in words for the admin */
  static async open(settings: WebdavSettings, { egress, signal, warn }: OpenContext): Promise<WebdavDriver> {
    const client = new WebdavClient(settings, egress);
    const calls = new Calls();
    const locks = new PathLocks();
    const temps = new TempFiles(
      {
        placeOf: (folder, name) => (folder === MOUNT_ROOT ? `/${name}` : `${folder}/${name}`),
        remove: (place) => removeSurely(client, place, calls),
        isRefusal: (error) => !isAway(error),
        isThere: async (place) => (await client.find(place, {})) !== undefined,
        move: async (from, to) => moveToFree(client, from, to, (await client.find(from, {}))?.isFolder ?? false),
        alone: (path, work) => locks.run(path, work),
        folders: asideFolders(client),
        warn,
      },
      calls,
    );
    try {
      return await calls.run({ signal }, async (call) => {
        const root = await client.findRoot(call);
        if (root?.resource === undefined || !root.resource.isFolder) {
          throw new AppError('FAILED_PRECONDITION', `root folder ${settings.rootPath} not exists`);
        }
        const server = await probeServer(client, temps.newPlace(MOUNT_ROOT), call);
        const chunked = await findChunkedUploads(client, settings.root, call);
        const previews = previewsOf(client, settings.root, root.knowsPreviews);
        if (previews) client.askForPreviews();
        const driver = new WebdavDriver(client, calls, temps, { ...server, quota: root.quota, chunked, previews }, locks);
        calls.track(driver.#sweepRoot());
        return driver;
      });
    } catch (error) {
      await calls.close();
      client.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal }, async (call) => toEntry(nameAt(path), await this.#get(path, call)));
  }

  async *list(directory: MountPath, { signal }: CallOptions = {}): AsyncGenerator<Entry, void> {
    checkReachable(directory);
    const until = this.#calls.until(signal);
    using listed = new NameSet();
    const left = this.#temps.asides.gather(directory);
    try {
      for await (const { name, resource } of this.#client.list(directory, { signal: until })) {
        throwIfAborted(until);
        if (name === undefined && !resource.isFolder) throw storageError('NOT_A_DIRECTORY');
        if (name === undefined || !isEntryName(name)) continue;
        if (isReservedName(name)) {
          left.add(name);
          this.#temps.sweep(directory, name, resource.modifiedAt.getTime(), (place) => removeOnce(this.#client, place));
          continue;
        }
        if (listed.add(name)) yield toEntry(name, resource);
      }
      this.#temps.removeLeft();
    } catch (error) {
      throwIfAborted(until);
      if (AppError.is(error, 'NOT_A_DIRECTORY') || isAway(error)) throw error;
      // Servers have many words for a file that was taken for a folder.
      const there = await this.#client.find(directory, { signal: until });
      if (there === undefined) throw storageError('ENTRY_NOT_FOUND', error);
      throw there.isFolder ? error : storageError('NOT_A_DIRECTORY', error);
    }
    const isListed = (name: EntryName) => !listed.add(name);
    yield* this.#temps.asides.bringLeft(directory, left, isListed, (path) => this.stat(path, { signal: until }), until);
  }

  async read(path: MountPath, range?: ByteRange, { signal }: CallOptions = {}): Promise<FileContent> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    const until = this.#calls.until(signal);
    const { offsetBytes = 0, lengthBytes } = range ?? {};
    try {
      // What is no range of at least one byte is judged by the size.
      if (!Number.isSafeInteger(offsetBytes) || offsetBytes < 0 || (lengthBytes !== undefined && !(lengthBytes >= 1))) {
        throw storageError('RANGE_NOT_SATISFIABLE');
      }
      const end = lengthBytes === undefined ? undefined : Math.min(Number.MAX_SAFE_INTEGER, offsetBytes + lengthBytes);
      const body = await this.#client.get(path, offsetBytes, end, { signal: until });
      const { resource } = body;
      if (body.sizeBytes !== undefined && resource.version !== undefined && resource.modifiedAt.getTime() > 0) {
        return rangeContent(toEntry(nameAt(path), resource), body, { signal: until });
      }
      return await this.#describedContent(path, body, until);
    } catch (error) {
      throwIfAborted(until);
      if (AppError.is(error, 'STORAGE_UNAVAILABLE') || AppError.is(error, 'STORAGE_LOGIN_FAILED')) throw error;
      const there = await this.#client.find(path, { signal: until });
      if (there === undefined) throw storageError('ENTRY_NOT_FOUND', error);
      if (there.isFolder) throw storageError('IS_A_DIRECTORY', error);
      if (!AppError.is(error, 'RANGE_NOT_SATISFIABLE')) throw error;
      const { start, end } = resolveRange(range, there.sizeBytes ?? 0);
      if (start < end) throw storageError('STORAGE_UNAVAILABLE', error);
      return emptyContent(toEntry(nameAt(path), there), { signal: until });
    }
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    checkUnreserved(path);
    if (path === MOUNT_ROOT) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    return this.#calls.run(options, async (call) => {
      await this.#ensureFolder(parentPath(path), call);
      // An answer may come before the end of the content.
      const answered = new AbortController();
      const signal = AbortSignal.any([call.signal, answered.signal]);
      const sent = sentContent(content, { ...options, signal });
      const entry = await this.#putTogether(path, options, call, async (place) => {
        try {
          if (this.#chunked?.takes(options.sizeBytes)) await this.#chunked.put(place, sent.pieces, options, { signal });
          else await this.#client.put(place, sent.pieces, options, call);
        } finally {
          answered.abort();
        }
        sent.requireWhole();
        return { isFolder: false, sizeBytes: sent.bytes() };
      });
      checkKept(entry, sent.bytes());
      return entry;
    });
  }

  async makeDirectory(path: MountPath, { signal, afterWaiting }: CallOptions = {}): Promise<Entry> {
    checkUnreserved(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#client.find(path, call);
      if (there !== undefined && !there.isFolder) throw storageError('ENTRY_EXISTS');
      if (there !== undefined) return toEntry(nameAt(path), there);
      await this.#makeFolder(path, call);
      return toEntry(nameAt(path), await this.#get(path, call));
    });
  }

  async remove(path: MountPath, { signal, afterWaiting, recursive, onlyIf }: RemoveOptions): Promise<void> {
    checkReachable(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    await this.#temps.asides.bringMissed(path, signal);
    await this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#get(path, call);
      requireUnchanged(onlyIf, toEntry(nameAt(path), there));
      const { isFolder } = there;
      if (isFolder && !recursive && !(await this.#client.isEmpty(path, call))) throw storageError('DIRECTORY_NOT_EMPTY');
      // What gets a name meanwhile waits for its end. Folders are removed with what is in them, which may take hours.
      await (recursive ? call.stillWanted() : call.commit());
      this.#seen.clear();
      const remove = () => this.#client.delete(path, isFolder, recursive ? call : {}).finally(() => this.#seen.clear());
      await removeReally(there, remove, () => {
        // What is done does not end with its caller.
        call.letGo();
        return this.#client.find(path, {});
      });
    });
  }

  async rename(from: MountPath, to: MountPath, { signal, afterWaiting, overwrite }: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal, afterWaiting }, (call) =>
      this.#locks.run(to, async () => {
        const [source] = await Promise.all([this.#get(from, call), this.#checkFolder(parentPath(to), call)]);
        if (from === to) return toEntry(nameAt(to), source);
        const there = await this.#client.find(to, call);
        if (there !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
        if (there !== undefined) await this.#checkReplaceable(source, to, there, call);
        await this.#move(from, to, source, there, call);
        this.#seen.clear();
        return toEntry(nameAt(to), await findRenamed(source, from, to, (path) => this.#client.find(path, {})));
      }),
    );
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, options.signal);
    return this.#calls.run(options, async (call) => {
      const [source] = await Promise.all([this.#get(from, call), this.#checkFolder(parentPath(to), call)]);
      if (from === to) throw storageError('ENTRY_EXISTS');
      if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
      const { isFolder } = source;
      const there = await this.#client.find(to, call);
      if (there !== undefined && (isFolder || !options.overwrite)) throw storageError('ENTRY_EXISTS');
      if (there?.isFolder) throw storageError('IS_A_DIRECTORY');
      return this.#putTogether(to, options, call, async (place) => {
        await this.#client.place('COPY', from, place, isFolder, false, call);
        if (isFolder) return { isFolder, sizeBytes: undefined };
        const copied = await this.#client.find(place, call);
        const sizeBytes = longer(copied, source);
        checkKept(copied, sizeBytes);
        return { isFolder, sizeBytes, isWhole: true };
      });
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    this.#client.close();
  }

  /** Of an answer whose head leaves out what a listing has. */
  async #describedContent(path: MountPath, body: Awaited<ReturnType<WebdavClient['get']>>, signal: AbortSignal): Promise<FileContent> {
    try {
      const there = await this.#get(path, { signal });
      if (there.isFolder) throw storageError('IS_A_DIRECTORY');
      const sizeBytes = body.sizeBytes ?? there.sizeBytes;
      if (sizeBytes === undefined) throw badAnswer('a file without a length');
      if (there.sizeBytes !== undefined && there.sizeBytes !== sizeBytes) throw badAnswer('another file than it lists');
      if (body.start > 0 && body.start >= sizeBytes) throw storageError('RANGE_NOT_SATISFIABLE');
      const end = Math.min(body.end, sizeBytes);
      return rangeContent(toEntry(nameAt(path), { ...there, sizeBytes }), { ...body, end }, { signal });
    } catch (error) {
      body.answer.destroy();
      throw error;
    }
  }

  async #link(path: MountPath, options: CallOptions = {}): Promise<DirectLink> {
    checkReachable(path);
    throwIfAborted(options.signal);
    return { url: this.#client.urlOf(path).href };
  }

  async #thumbnail(previews: Previews, path: MountPath, options: ThumbnailOptions): Promise<StorageThumbnail> {
    checkReachable(path);
    return this.#calls.run(options, async (call) => {
      const there = await this.#get(path, call);
      if (there.isFolder) throw storageError('IS_A_DIRECTORY');
      if (!there.hasPreview) throw storageError('UNSUPPORTED_OPERATION');
      return { entry: toEntry(nameAt(path), there), image: await previews.get(path, { ...options, signal: call.signal }) };
    });
  }

  async #space({ signal }: CallOptions = {}): Promise<Space> {
    return this.#calls.run({ signal }, async (call) => {
      const quota = (await this.#client.findRoot(call))?.quota;
      if (quota === undefined) throw storageError('STORAGE_UNAVAILABLE');
      return { totalBytes: quota.availableBytes + quota.usedBytes, freeBytes: quota.availableBytes };
    });
  }

  /**
   * Fills a place of ours, and gives what is there its name. Whatever fails, nothing is left.
   *
   * @param fill says what is there then
   */
  async #putTogether(path: MountPath, options: Publishing, call: Call, fill: (place: Place) => Promise<Filled>): Promise<Entry> {
    const place = this.#temps.newPlace(parentPath(path));
    let placed: Resource | undefined;
    try {
      placed = await this.#publish(place, path, await fill(place), options, call);
    } catch (error) {
      if (error instanceof Lost) this.#temps.asides.keep(place, path);
      else await this.#temps.discard(place);
      throw error;
    }
    return toEntry(nameAt(path), placed ?? (await this.#get(path, {})));
  }

  /** @returns what is there then. @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY | STALE_VERSION; what `beforePublish` throws; Lost */
  async #publish(
    place: Place,
    path: MountPath,
    { isFolder, sizeBytes, isWhole = false }: Filled,
    { overwrite, beforePublish }: Publishing,
    call: Call,
  ): Promise<Resource | undefined> {
    await this.#temps.asides.bringMissed(path, call.signal);
    const begunAtMs = Date.now();
    // Of a name that was taken for free an old date shows that something had it; another size is told elsewhere.
    const isOld = ({ modifiedAt, sizeBytes: kept }: Resource) => kept === sizeBytes && modifiedAt.getTime() < begunAtMs - NEW_WITHIN_MS;
    const isOurs = (found: Resource | undefined): found is Resource =>
      !isFolder && found?.isFolder === false && found.sizeBytes !== undefined && found.sizeBytes === sizeBytes && !isOld(found);
    // A name is taken for free until the server says that it is not.
    let there = beforePublish ? await this.#client.find(path, call) : undefined;
    let isAnswered = beforePublish === undefined;
    let isLookedAt = isWhole;
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      if (there !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
      if (there?.isFolder) throw storageError('IS_A_DIRECTORY');
      if (!isAnswered) {
        await beforePublish?.();
        const before = there;
        there = await this.#client.find(path, call);
        isAnswered = isSame(before, there);
        if (!isAnswered) continue;
      }
      if (there !== undefined && !isLookedAt) {
        // Nothing takes the place of a file but what is whole.
        const kept = await this.#client.find(place, call);
        if (kept === undefined && this.#replacing !== 'plain') throw storageError('ENTRY_NOT_FOUND');
        checkKept(kept, sizeBytes);
        isLookedAt = true;
      }
      try {
        // Of those of this process one comes after the other: some servers look first and move then.
        return await this.#locks.run(path, async () => {
          const before = there;
          await this.#move(place, path, { isFolder, sizeBytes }, before, call);
          // While the next one replaces it, there may be nothing for a moment.
          const find = () => this.#client.find(path, {});
          const isBefore = (found: Resource) => (before ? isSame(before, found) : isOld(found));
          return findReplaced(isBefore, find, async () => (await this.#client.find(place, {})) !== undefined);
        });
      } catch (error) {
        if (error instanceof Lost || isAway(error)) throw error;
        const now = await this.#client.find(path, {});
        // Apache has another word than 412 for a folder.
        // What had the name may be gone for a moment, while the next one replaces it.
        const isTaken = AppError.is(error, 'STALE_VERSION');
        // What was sent twice on the way finds its own file there. A server that was not tried may not show what is not there to be moved.
        const isGone = AppError.is(error, 'ENTRY_NOT_FOUND') || (isTaken && this.#replacing !== 'plain');
        // What was seen there before is not: the server may have kept nothing of the new one.
        const isNews = isOurs(now) && !isSame(there, now);
        if (isGone && (isNews || (isTaken && there !== undefined)) && (await this.#client.find(place, {})) === undefined) {
          if (isNews) return now;
          // Nothing is left that could replace it.
          if (isTaken) throw error;
        }
        if (!isTaken && (now === undefined ? there === undefined : !now.isFolder)) throw error;
        isAnswered = beforePublish === undefined || isSame(there, now);
        there = now;
      }
    }
    throw storageError('STALE_VERSION');
  }

  /**
   * One step for most servers; from here on the caller does not end the call. Where nobody says how it went, a look does. A server that replaces may remove
   * first: where it came no further, the rest is done, so that no name is lost.
   *
   * @param before what is replaced; undefined: the name is to be free @throws AppError STALE_VERSION: it is not; Lost
   */
  async #move(from: Place, to: MountPath, moved: Filled, before: Resource | undefined, call: Call): Promise<void> {
    const { isFolder } = moved;
    const overwrite = before !== undefined;
    await call.commit();
    if (overwrite && this.#replacing === 'step-aside') return replaceAside(this.#client, this.#temps.asides, from, to, isFolder, before);
    try {
      await this.#client.place('MOVE', from, to, isFolder, overwrite, { ifThere: overwrite && this.#replacing === 'if-there' });
    } catch (error) {
      if (!isAway(error) && !overwrite) throw error;
      const [source, target] = await Promise.all([this.#client.find(from, {}), this.#client.find(to, {})]).catch(() => {
        throw overwrite && isAway(error) ? new Lost(error) : error;
      });
      if (!isAway(error)) {
        if (source === undefined && wasReplaced(before, moved, target)) return;
        throw error;
      }
      if (source === undefined && target !== undefined) return;
      if (source === undefined || target !== undefined) throw error;
      await this.#client.place('MOVE', from, to, isFolder, false, {}).catch((failure: unknown) => {
        throw overwrite ? new Lost(failure) : failure;
      });
    }
  }

  /** @throws AppError as `rename` has them for what does not fit */
  async #checkReplaceable(source: Resource, path: MountPath, there: Resource, call: CallOptions): Promise<void> {
    if (!source.isFolder && there.isFolder) throw storageError('IS_A_DIRECTORY');
    if (source.isFolder && !there.isFolder) throw storageError('NOT_A_DIRECTORY');
    if (there.isFolder && !(await this.#client.isEmpty(path, call))) throw storageError('DIRECTORY_NOT_EMPTY');
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async #get(path: MountPath, call: CallOptions): Promise<Resource> {
    const there = await this.#client.find(path, call);
    if (there === undefined) throw storageError('ENTRY_NOT_FOUND');
    return there;
  }

  /** @throws AppError NOT_A_DIRECTORY | ENTRY_NOT_FOUND */
  async #checkFolder(path: MountPath, call: CallOptions): Promise<void> {
    if (!(await this.#get(path, call)).isFolder) throw storageError('NOT_A_DIRECTORY');
  }

  /** Makes a folder with those above it, as far as they are missing. @throws AppError NOT_A_DIRECTORY */
  async #ensureFolder(path: MountPath, call: Call): Promise<void> {
    if (this.#seen.has(path)) return;
    const there = await this.#client.find(path, call);
    if (there !== undefined && !there.isFolder) throw storageError('NOT_A_DIRECTORY');
    if (there === undefined) await this.#makeFolder(path, call);
    this.#seen.set(path, true);
  }

  async #makeFolder(path: MountPath, call: Call): Promise<void> {
    if (path === MOUNT_ROOT) throw rootIsGone();
    await this.#ensureFolder(parentPath(path), call);
    await call.stillWanted();
    try {
      if (await this.#client.makeFolder(path, call)) return;
    } catch (error) {
      // Apache has several words for a folder that somebody else makes at the same moment.
      if (isAway(error) || !(await this.#client.find(path, call))?.isFolder) throw error;
    }
    if (!(await this.#get(path, call)).isFolder) throw storageError('NOT_A_DIRECTORY');
  }

  /** Removes what ended processes left in the root. */
  async #sweepRoot(): Promise<void> {
    for await (const _ of this.list(MOUNT_ROOT));
  }
}

/** @throws AppError CONTENT_CORRUPT: the server has less or more than it was sent, or was to copy */
function checkKept(kept: Pick<Resource, 'sizeBytes'> | undefined, sentBytes: number | undefined): void {
  // Of what is not listed its move says more.
  if (kept?.sizeBytes === undefined || sentBytes === undefined || kept.sizeBytes === sentBytes) return;
  throw storageError('CONTENT_CORRUPT', new Error(`the server has ${kept.sizeBytes} bytes, not ${sentBytes}`));
}

/** What a copy has to have, in bytes: its source may have grown since it was looked at. */
function longer(copied: Pick<Resource, 'sizeBytes'> | undefined, source: Resource): number | undefined {
  return source.sizeBytes === undefined ? copied?.sizeBytes : Math.max(source.sizeBytes, copied?.sizeBytes ?? 0);
}

function toEntry(name: EntryName, { isFolder, sizeBytes, modifiedAt, version, hashes, hasPreview }: Resource): Entry {
  return {
    name,
    isDirectory: isFolder,
    sizeBytes: isFolder ? 0 : sizeBytes,
    modifiedAt,
    ...(version !== undefined && { version }),
    ...(hashes && { hashes }),
    ...(hasPreview && { hasThumbnail: true }),
  };
}
