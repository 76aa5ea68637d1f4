import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createGate, withoutEnd } from '@wharf/pace';
import { baseName, childPath, type EntryName, isEntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath } from '@wharf/paths';
import { drain, emptyContent, openEndContent, rangeContent } from '../../driver-contract/answers.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type Call, Calls } from '../../driver-contract/calls.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { PathLocks } from '../../driver-contract/path-locks.ts';
import { findRenamed, findReplaced, removeReally } from '../../driver-contract/really-renamed.ts';
import { nearestFolder, requireListed } from '../../driver-contract/require-listed.ts';
import type {
  BeforePublish,
  ByteRange,
  CallOptions,
  DirectLink,
  DriverTraits,
  Entry,
  FileContent,
  LinkOptions,
  PlaceOptions,
  RemoveOptions,
  StorageDriver,
  StorageThumbnail,
  ThumbnailOptions,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import {
  badAnswer,
  isAway,
  isNoStorage,
  isNotThere,
  Lost,
  rootIsGone,
  storageError,
  throwIfAborted,
} from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { sentContent } from '../../driver-contract/verified-content.ts';
import { GatewayClient, type Self } from './client.ts';
import type { SameApiSettings } from './config.ts';
import { isSame, type RemoteDetail, type RemoteEntry } from './entries.ts';
import { noStorage } from './errors.ts';
import { FarNames, isFarName, isFarPath } from './far-names.ts';
import { putToWharf, replacedMeanwhile } from './put-to-wharf.ts';
import { refuseFolding } from './refuse-folding.ts';
import { openSession } from './session.ts';

/** The role of the guest in the family. */
const GUEST = 1;
/** How often a name may be given to something else between a question and its answer. */
const MAX_TRIES = 100;
/** How often a file is looked at again that is replaced between the look and the reading. */
const MAX_LOOKS = 3;
/** So long the head of a content is waited for that is to tell its size. */
const HEAD_MS = 5_000;
/** Of what was left at the gateway: so many are removed at once, so many wait. What is more is found again by the next listing. */
const PARALLEL_REMOVALS = 4;
const MAX_REMOVALS = 1_000;

/** The grids to which storages of Wharf and of the family keep dates, as far as their driver alone tells, in milliseconds. */
const DATE_STEP_MS: ReadonlyMap<string, number> = new Map([
  ['Local', 1],
  ['SFTP', 1000],
]);

/** A folder of another gateway that has the family's API. README tells the whole. */
export class SameApiDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #client: GatewayClient;
  readonly #settings: SameApiSettings;
  readonly #calls: Calls;
  readonly #names = new FarNames();
  readonly #locks = new PathLocks();
  readonly #removals = createGate(PARALLEL_REMOVALS, { max: MAX_REMOVALS, refusal: 'too much to remove' });
  /** It stores a file whole or not at all. */
  readonly #isWharf: boolean;

  private constructor(client: GatewayClient, settings: SameApiSettings, calls: Calls, self: Self, root: RemoteDetail) {
    this.#client = client;
    this.#settings = settings;
    this.#calls = calls;
    this.#isWharf = self.installation !== undefined;
    this.traits = {
      caseSensitive: true,
      keepsEmptyDirectories: true,
      modTimeStepMs: DATE_STEP_MS.get(root.provider),
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: false,
      copiesFolders: true,
      ...(!this.#isWharf && { needsSize: true }),
    };
  }

  /** @throws AppError STORAGE_LOGIN_FAILED | FAILED_PRECONDITION (no such folder, or it may not be mounted) | CIRCULAR_MOUNT, in words for the admin */
  static async open(settings: SameApiSettings, context: OpenContext): Promise<SameApiDriver> {
    const client = new GatewayClient(settings, context.egress, context.trail);
    const calls = new Calls();
    try {
      client.useSession(openSession(settings, client, context));
      return await calls.run({ signal: context.signal }, async (call) => {
        const self = await client.self(call);
        if (self.role === GUEST && !(await client.lets(call))) {
          throw new AppError('FAILED_PRECONDITION', 'the gateway does not let others mount it as its guest (its setting allow_mounted)');
        }
        const root = await client.find(MOUNT_ROOT, call);
        if (!root?.isDirectory) throw new AppError('FAILED_PRECONDITION', `root folder ${settings.root} not exists`);
        // One of ours tells them apart, whatever its disks do.
        if (self.installation === undefined) await refuseFolding(client, call);
        return new SameApiDriver(client, settings, calls, self, root);
      });
    } catch (error) {
      await calls.close();
      client.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkReachable(path);
    return this.#calls.run({ signal }, async (call) => toEntry(nameAt(path), await this.#get(path, call)));
  }

  async *list(directory: MountPath, { signal }: CallOptions = {}): AsyncGenerator<Entry, void> {
    checkReachable(directory);
    const until = this.#calls.until(signal);
    using listed = new NameSet();
    try {
      for await (const entry of this.#client.list(directory, { signal: until })) {
        throwIfAborted(until);
        const { name } = entry;
        if (!isEntryName(name)) continue;
        if (isFarName(name)) {
          if (this.#names.isLeft(name, entry.modifiedAt.getTime()))
            this.#calls.track(this.#removals.run(() => this.#client.remove(directory, name, {})));
          continue;
        }
        if (listed.add(name)) yield toEntry(name, entry);
      }
    } catch (error) {
      throwIfAborted(until);
      throw error;
    }
  }

  async read(path: MountPath, range?: ByteRange, { signal }: CallOptions = {}): Promise<FileContent> {
    checkReachable(path);
    const until = this.#calls.until(signal);
    try {
      for (let look = 1; ; look += 1) {
        const there = await this.#get(path, { signal: until });
        if (there.isDirectory) throw storageError('IS_A_DIRECTORY');
        const entry = toEntry(nameAt(path), there);
        const { start, end } = resolveRange(range, there.sizeBytes ?? Number.POSITIVE_INFINITY);
        if (start === end) return emptyContent(entry, { signal: until });
        if (there.sizeBytes === undefined) {
          const content = await this.#readUnsized(entry, there, { start, end }, until);
          if (content) return content;
          if (look === MAX_LOOKS) throw badAnswer('another file than it names');
          continue;
        }
        const isToEnd = end === there.sizeBytes;
        const body = await this.#client.download(there, start, isToEnd ? undefined : end, { signal: until });
        // What comes in chunks says no size, and is held to the one that is known as it comes.
        const isOfSize = body.sizeBytes === undefined || body.sizeBytes === there.sizeBytes;
        if (isOfSize && isDated(body.answer.headers['last-modified'], there)) {
          return rangeContent(entry, body, { signal: until });
        }
        body.answer.destroy();
        // It was replaced in between.
        if (look === MAX_LOOKS) throw badAnswer('another file than it names');
      }
    } catch (error) {
      throwIfAborted(until);
      throw error;
    }
  }

  async link(path: MountPath, { signal, client }: LinkOptions = {}): Promise<DirectLink> {
    checkReachable(path);
    const { passesAddress, passesAgent } = this.#settings;
    return this.#calls.run({ signal }, async (call) => {
      const { isDirectory, rawUrl } = await this.#client.get(path, call, client);
      if (isDirectory) throw storageError('IS_A_DIRECTORY');
      const url = URL.parse(rawUrl);
      if (!url || !['http:', 'https:'].includes(url.protocol)) throw storageError('UNSUPPORTED_OPERATION');
      const expiresAt = endOfSign(url);
      // Told who asks, the gateway may answer for that client alone.
      const isForClient = client !== undefined && (passesAddress || passesAgent);
      return { url: url.href, ...(isForClient && { isForClient }), ...(expiresAt && { expiresAt }) };
    });
  }

  async thumbnail(path: MountPath, { signal, maxBytes }: ThumbnailOptions): Promise<StorageThumbnail> {
    checkReachable(path);
    return this.#calls.run({ signal }, async (call) => {
      const there = await this.#get(path, call);
      if (there.isDirectory) throw storageError('IS_A_DIRECTORY');
      return { entry: toEntry(nameAt(path), there), image: await this.#client.picture(there, maxBytes, call) };
    });
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    checkUnreserved(path);
    if (path === MOUNT_ROOT) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    const { overwrite, beforePublish } = options;
    return this.#calls.run(options, async (call) => {
      await this.#requireRoot(call);
      const mayPublish = () => this.#mayPublish(path, overwrite, beforePublish, call);
      let sentBytes: number;
      try {
        sentBytes = this.#isWharf
          ? await putToWharf(content, { client: this.#client, path, options, call, mayPublish })
          : await this.#putAside(path, content, options, mayPublish, call);
      } catch (error) {
        if (!AppError.is(error, 'ENTRY_EXISTS') && !AppError.is(error, 'NOT_A_DIRECTORY')) throw error;
        throw await this.#takenBy(path, overwrite, error, call);
      }
      const kept = await this.#sized(await this.#get(path, {}), sentBytes);
      checkKept(kept, sentBytes);
      return toEntry(nameAt(path), kept);
    });
  }

  async makeDirectory(path: MountPath, { signal, afterWaiting }: CallOptions = {}): Promise<Entry> {
    checkUnreserved(path);
    return this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#client.find(path, call);
      if (there && !there.isDirectory) throw storageError('ENTRY_EXISTS');
      if (there) return toEntry(nameAt(path), there);
      await this.#requireRoot(call);
      await call.stillWanted();
      await this.#client.makeFolder(path, call);
      const made = await this.#get(path, {});
      if (!made.isDirectory) throw storageError('ENTRY_EXISTS');
      return toEntry(nameAt(path), made);
    });
  }

  async remove(path: MountPath, { signal, afterWaiting, recursive, onlyIf }: RemoveOptions): Promise<void> {
    checkReachable(path);
    const name = baseName(path);
    if (name === undefined) throw storageError('INVALID_ARGUMENT');
    await this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#getDoomed(path, call);
      requireUnchanged(onlyIf, toEntry(name, there));
      const { isDirectory } = there;
      // A gateway may end a content that broke off as one that is whole: where nothing tells its size, what was read of it may be a part.
      if (onlyIf && !isDirectory && (await this.#measured(there, call)).sizeBytes === undefined) throw storageError('STALE_VERSION');
      if (isDirectory && !recursive && !(await this.#isEmpty(path, call))) throw storageError('DIRECTORY_NOT_EMPTY');
      await (recursive ? call.stillWanted() : call.commit());
      const find = async () => {
        // What is done does not end with its caller.
        call.letGo();
        const left = await this.#client.find(path, {});
        return left && said(left);
      };
      const parent = parentPath(path);
      const removed = () =>
        isDirectory && !recursive && this.#isWharf
          ? this.#client.removeIfEmpty(parent, name, {})
          : this.#client.remove(parent, name, recursive ? call : {});
      await removeReally(said(there), removed, find);
    });
  }

  async rename(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    return this.#calls.run(options, (call) =>
      this.#locks.run(to, async () => {
        const { source, there } = await this.#ends(from, to, options, call);
        if (from === to) return toEntry(nameAt(to), source);
        if (there) await this.#checkReplaceable(source, to, there, call);
        await call.commit();
        await this.#move(from, to, options.overwrite && there !== undefined);
        const find = async (path: MountPath) => {
          const found = await this.#client.find(path, {});
          return found && said(await this.#sized(found, source.sizeBytes));
        };
        return toEntry(nameAt(to), await findRenamed(said(source), from, to, find));
      }),
    );
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    return this.#calls.run(options, (call) =>
      this.#locks.run(to, async () => {
        if (from === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
        const { source, there } = await this.#ends(from, to, { overwrite: true }, call);
        if (from === to) throw storageError('ENTRY_EXISTS');
        if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
        if (there && (source.isDirectory || !options.overwrite)) throw storageError('ENTRY_EXISTS');
        if (there?.isDirectory) throw storageError('IS_A_DIRECTORY');
        await this.#copyAside(from, to, { source, there }, call);
        return toEntry(nameAt(to), await this.#get(to, {}));
      }),
    );
  }

  async close(): Promise<void> {
    await this.#calls.close();
    this.#client.close();
  }

  /**
   * A file whose size the gateway does not know, or that is empty: what comes tells.
   *
   * @returns undefined: it was replaced in between
   */
  async #readUnsized(
    entry: Entry,
    there: RemoteDetail,
    { start, end }: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<FileContent | undefined> {
    // An empty file has no range.
    const body = await this.#client.download(there, start, start === 0 || end === Number.POSITIVE_INFINITY ? undefined : end, { signal });
    const { answer, sizeBytes } = body;
    if (sizeBytes === 0) {
      await drain(answer, signal);
      return emptyContent({ ...entry, sizeBytes: 0 }, { signal });
    }
    if (isDated(answer.headers['last-modified'], there)) return openEndContent(entry, answer, end - start, { signal });
    answer.destroy();
    return undefined;
  }

  /** What has just been stored of so many bytes. Where the gateway tells no size, the head of its content may: that it has none of them, or how many. */
  async #sized(there: RemoteDetail, sentBytes: number | undefined): Promise<RemoteDetail> {
    if (there.isDirectory || there.sizeBytes !== undefined || sentBytes === undefined) return there;
    return sentBytes === 0 ? { ...there, sizeBytes: 0 } : this.#measured(there, {});
  }

  /** With the size that the head of its content tells, where the gateway tells none. */
  async #measured(there: RemoteDetail, call: CallOptions): Promise<RemoteDetail> {
    if (there.sizeBytes !== undefined) return there;
    const late = AbortSignal.timeout(HEAD_MS);
    const signal = call.signal ? AbortSignal.any([call.signal, late]) : late;
    try {
      const { answer, sizeBytes } = await this.#client.download(there, 0, undefined, { signal });
      if (sizeBytes === 0) await drain(answer, signal);
      else answer.destroy();
      return { ...there, sizeBytes };
    } catch {
      throwIfAborted(call.signal);
      // The gateway has said that it has it; where its content is does not matter for that.
      return there;
    }
  }

  /**
   * Asked when the content is complete: whether the file may have its name, and again where something else has the name since.
   *
   * @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY; what `beforePublish` throws
   */
  async #mayPublish(path: MountPath, overwrite: boolean, beforePublish: BeforePublish | undefined, call: CallOptions): Promise<void> {
    if (!beforePublish) return;
    let there = await this.#client.find(path, call);
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      if (there && !overwrite) throw storageError('ENTRY_EXISTS');
      if (there?.isDirectory) throw storageError('IS_A_DIRECTORY');
      await beforePublish();
      const before = there;
      there = await this.#client.find(path, call);
      if (isSame(before, there)) return;
    }
    throw storageError('STALE_VERSION');
  }

  /** For gateways that write in place: what is cut off there would shorten the old file. @returns how many bytes were sent */
  async #putAside(
    path: MountPath,
    content: AsyncIterable<Uint8Array>,
    options: WriteOptions,
    mayPublish: () => Promise<void>,
    call: Call,
  ): Promise<number> {
    const { overwrite, sizeBytes, modifiedAt, expectedHashes } = options;
    const there = await this.#client.find(path, call);
    if (there && !overwrite) throw storageError('ENTRY_EXISTS');
    if (there?.isDirectory) throw storageError('IS_A_DIRECTORY');
    const place = childPath<MountPath>(parentPath(path), this.#names.next() as EntryName);
    // An answer may come before the end of the content.
    const answered = new AbortController();
    const sent = sentContent(content, { ...options, signal: AbortSignal.any([call.signal, answered.signal]) });
    try {
      await this.#client.put(place, sent.pieces, { overwrite, sizeBytes, modifiedAt, expectedHashes, isOfLength: true }, call);
      sent.requireWhole();
      const sentBytes = sent.bytes();
      // Nothing takes the place of a file but what is whole.
      if (there) checkKept(await this.#sized(await this.#get(place, call), sentBytes), sentBytes);
      await mayPublish();
      await call.commit();
      await this.#locks.run(path, () =>
        this.#placeSurely(place, path, (replaces) => this.#client.rename(place, nameAt(path), replaces, {}), overwrite, there),
      );
      return sentBytes;
    } catch (error) {
      if (!(error instanceof Lost)) await this.#discard(place);
      throw error;
    } finally {
      answered.abort();
    }
  }

  /**
   * Gives what is at a place of ours its name. Where nobody says how it went, a look does: a gateway that replaces may remove first, and where it came no
   * further, the rest is done.
   *
   * @param before what had the name. @throws Lost; as findReplaced()
   */
  async #placeSurely(
    place: MountPath,
    path: MountPath,
    move: (replaces: boolean) => Promise<void>,
    replaces: boolean,
    before: RemoteEntry | undefined,
  ): Promise<void> {
    try {
      await move(replaces);
    } catch (error) {
      if (!isAway(error)) throw error;
      const [source, target] = await Promise.all([this.#client.find(place, {}), this.#client.find(path, {})]).catch(() => {
        throw replaces ? new Lost(error) : error;
      });
      if (source === undefined && target !== undefined) return;
      if (source === undefined || target !== undefined) throw error;
      return move(false).catch((failure: unknown) => {
        throw replaces ? new Lost(failure) : failure;
      });
    }
    if (!before) return;
    const find = (at: MountPath) => this.#client.find(at, {});
    await findReplaced(
      (found) => isSame(before, found),
      () => find(path),
      async () => (await find(place)) !== undefined,
    );
  }

  /**
   * The gateway copies under the same name alone: into a folder of ours beside the target, where the copy gets its name, and from there to its place.
   * Whatever fails, nothing is left.
   */
  async #copyAside(
    from: MountPath,
    to: MountPath,
    { source, there }: { readonly source: RemoteEntry; readonly there: RemoteEntry | undefined },
    call: Call,
  ): Promise<void> {
    const folder = childPath<MountPath>(parentPath(to), this.#names.next() as EntryName);
    const [name, target] = [nameAt(from), nameAt(to)];
    try {
      await this.#client.makeFolder(folder, call);
      await this.#client.place('copy', parentPath(from), folder, name, false, call);
      if (name !== target) await this.#client.rename(childPath(folder, name), target, false, call);
      if (!source.isDirectory) {
        const copied = await this.#sized(await this.#get(childPath(folder, target), call), source.sizeBytes);
        // Its source may have grown since it was looked at.
        checkKept(copied, Math.max(source.sizeBytes ?? 0, copied.sizeBytes ?? 0));
      }
      await call.commit();
      const move = (over: boolean) => this.#client.place('move', folder, parentPath(to), target, over, {});
      await this.#placeSurely(childPath(folder, target), to, move, there !== undefined, there);
    } catch (error) {
      if (!(error instanceof Lost)) await this.#discard(folder);
      throw error;
    }
    await this.#discard(folder);
  }

  /** One step where the folder or the name stays. Else two: it has its new name in its old folder for a moment, or one beside it that is free. */
  async #move(from: MountPath, to: MountPath, overwrite: boolean): Promise<void> {
    const [source, target, name] = [parentPath(from), parentPath(to), nameAt(to)];
    if (source === target) return this.#client.rename(from, name, overwrite, {});
    if (nameAt(from) === name) return this.#client.place('move', source, target, name, overwrite, {});
    const isFree = (await this.#client.find(childPath(source, name), {})) === undefined;
    const between = isFree ? name : betweenName(name);
    await this.#client.rename(from, between, false, {});
    let at = childPath<MountPath>(source, between);
    try {
      await this.#client.place('move', source, target, between, overwrite && between === name, {});
      at = childPath<MountPath>(target, between);
      if (between !== name) await this.#client.rename(at, name, overwrite, {});
    } catch (error) {
      if (parentPath(at) !== source) await this.#client.place('move', target, source, between, false, {}).catch(() => undefined);
      await this.#client.rename(childPath(source, between), nameAt(from), false, {}).catch(() => undefined);
      throw error;
    }
  }

  /** @throws AppError ENTRY_NOT_FOUND (the source, or the folder of the target) | NOT_A_DIRECTORY | ENTRY_EXISTS */
  async #ends(from: MountPath, to: MountPath, { overwrite }: Pick<PlaceOptions, 'overwrite'>, call: Call) {
    const [source, parent, there] = await Promise.all([
      this.#get(from, call),
      this.#get(parentPath(to), call),
      from === to ? undefined : this.#client.find(to, call),
    ]);
    if (!parent.isDirectory) throw storageError('NOT_A_DIRECTORY');
    if (there && !overwrite) throw storageError('ENTRY_EXISTS');
    return { source, there };
  }

  /** @throws AppError as `rename` has them for what does not fit */
  async #checkReplaceable(source: RemoteEntry, path: MountPath, there: RemoteEntry, call: CallOptions): Promise<void> {
    if (!source.isDirectory && there.isDirectory) throw storageError('IS_A_DIRECTORY');
    if (source.isDirectory && !there.isDirectory) throw storageError('NOT_A_DIRECTORY');
    if (there.isDirectory && !(await this.#isEmpty(path, call))) throw storageError('DIRECTORY_NOT_EMPTY');
  }

  /** What stands in the way of a file: gateways have several words for it. */
  async #takenBy(path: MountPath, overwrite: boolean, error: AppError, call: CallOptions): Promise<AppError> {
    const there = await this.#client.find(path, call);
    if (!there) return AppError.is(error, 'NOT_A_DIRECTORY') ? error : storageError('NOT_A_DIRECTORY', error);
    if (!overwrite) return storageError('ENTRY_EXISTS', error);
    if (there.isDirectory) return storageError('IS_A_DIRECTORY', error);
    return this.#isWharf && AppError.is(error, 'ENTRY_EXISTS') ? replacedMeanwhile(error) : error;
  }

  /** What others know of a folder may be half an hour old: they are to look, where they let us have them look. A Wharf looks as it removes. */
  async #isEmpty(folder: MountPath, call: CallOptions): Promise<boolean> {
    const isListedEmpty = async (refreshes?: boolean) => {
      for await (const _ of this.#client.list(folder, call, refreshes)) return false;
      return true;
    };
    if (this.#isWharf) return isListedEmpty();
    return isListedEmpty(true).catch((error: unknown) => {
      if (!AppError.is(error, 'PERMISSION_DENIED')) throw error;
      return isListedEmpty();
    });
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async #get(path: MountPath, call: CallOptions): Promise<RemoteDetail> {
    try {
      return await this.#client.get(path, call);
    } catch (error) {
      throw AppError.is(error, 'NOT_A_DIRECTORY') ? storageError('ENTRY_NOT_FOUND', error) : error;
    }
  }

  /** What is to be removed. @throws AppError ENTRY_NOT_FOUND | FAILED_PRECONDITION: its storage is not there, which says nothing of the entry */
  async #getDoomed(path: MountPath, call: CallOptions): Promise<RemoteDetail> {
    try {
      return await this.#client.get(path, call);
    } catch (error) {
      if (!isNotThere(error)) throw error;
      await this.#requireRoot(call);
      // A folder that mounts alone make has no storage either, and is there.
      if (isNoStorage(error) && (await this.#client.find(parentPath(path), call)) === undefined) throw noStorage();
      const isFolder = async (above: MountPath) => (await this.#client.find(above, call))?.isDirectory === true;
      await requireListed(this.#isEmpty(await nearestFolder(path, isFolder), call), call.signal);
      throw storageError('ENTRY_NOT_FOUND', error);
    }
  }

  /**
   * A gateway makes what is missing above a new entry, and has what is not there for removed. While the folder that is shown is away itself, as on a disk that is not
   * mounted there, neither counts: it would not be seen once that folder is back.
   *
   * @throws AppError STORAGE_UNAVAILABLE
   */
  async #requireRoot(call: CallOptions): Promise<void> {
    if ((await this.#client.find(MOUNT_ROOT, call)) === undefined) throw rootIsGone();
  }

  /** Removes what is ours. What stays is found by a listing once this process has ended. */
  async #discard(place: MountPath): Promise<void> {
    await this.#client.remove(parentPath(place), nameAt(place), {}).catch(() => undefined);
  }
}

/** A name that nobody else takes, and that tells whose content it is should it stay. */
function betweenName(name: EntryName): EntryName {
  const room = withoutEnd(Buffer.from(name).toString('utf8', 0, 200), '\ufffd');
  return `${room}.${randomBytes(6).toString('hex')}` as EntryName;
}

function checkReachable(path: MountPath): void {
  if (isFarPath(path)) throw storageError('ENTRY_NOT_FOUND');
}

function checkUnreserved(path: MountPath): void {
  if (isFarPath(path)) throw storageError('PERMISSION_DENIED');
}

/** @throws AppError CONTENT_CORRUPT: the gateway has less or more than it was sent, or was to copy, as far as it tells */
function checkKept(kept: Pick<Entry, 'sizeBytes'>, sentBytes: number): void {
  if (kept.sizeBytes === undefined || kept.sizeBytes === sentBytes) return;
  throw storageError('CONTENT_CORRUPT', new Error(`the gateway has ${kept.sizeBytes} bytes, not ${sentBytes}`));
}

/** Whether the head of a content is of the file that was named; one that has no date may be, and so may any where the gateway knows none. */
function isDated(lastModified: string | undefined, { modifiedAt }: RemoteEntry): boolean {
  const ms = Date.parse(lastModified ?? '');
  return Number.isNaN(ms) || modifiedAt.getTime() === 0 || Math.abs(ms - modifiedAt.getTime()) < 1000;
}

/** The family's signatures say at their end when they do, in seconds; 0: never. */
function endOfSign({ searchParams }: URL): Date | undefined {
  const [, seconds] = /:(\d{1,11})$/.exec(searchParams.get('sign') ?? '') ?? [];
  return seconds === undefined || Number(seconds) === 0 ? undefined : new Date(Number(seconds) * 1000);
}

const said = (entry: RemoteEntry) => ({ ...entry, isFolder: entry.isDirectory });

function toEntry(name: EntryName, { isDirectory, sizeBytes, modifiedAt, createdAt, hashes, thumb }: RemoteEntry): Entry {
  return {
    ...{ name, isDirectory, sizeBytes, modifiedAt },
    ...(createdAt && { createdAt }),
    ...(hashes && { hashes }),
    ...(thumb !== '' && { hasThumbnail: true }),
  };
}
