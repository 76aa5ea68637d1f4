import { AppError } from '@wharf/errors';
import {
  baseName,
  type EntryName,
  isEntryName,
  isWithin,
  MOUNT_ROOT,
  type MountPath,
  nameAt,
  parentPath,
  pathSegments,
} from '@wharf/paths';
import { answeredRange } from '../../driver-contract/answered-range.ts';
import { emptyContent, openEndContent, rangeContent } from '../../driver-contract/answers.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type Call, Calls } from '../../driver-contract/calls.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { PathLocks } from '../../driver-contract/path-locks.ts';
import type {
  ByteRange,
  CallOptions,
  DriverTraits,
  Entry,
  FileContent,
  PlaceOptions,
  RemoveOptions,
  Space,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { isAway, Lost, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { TempFiles } from '../../driver-contract/temp-files.ts';
import { checkReachable, checkUnreserved, isReservedName } from '../../driver-contract/temp-names.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { sentContent } from '../../driver-contract/verified-content.ts';
import { isWorthAsking } from '../../driver-contract/worth-asking.ts';
import { BucketFolders, PLACEHOLDER } from './bucket-folders.ts';
import { type Place, type RcdSource, RcloneClient, type RemoteEntry, type RemoteWay } from './client.ts';
import type { Emptiness } from './dav-emptiness.ts';
import type { Features } from './features.ts';
import { foldedName } from './folder-looks.ts';
import { isFolder, probeNames } from './probe-names.ts';
import { moveSurely, replaceFile, whenUnused } from './publish-file.ts';
import { ownRcd } from './rcd.ts';
import { RemoteRoot, type RootPlaces } from './remote-root.ts';

/** A storage that rclone reaches for us. */
export interface RcloneSettings {
  readonly places: RootPlaces;
  /** As entered, for what is said of it. */
  readonly rootPath: string;
  /** The server keeps a file that is being read from being replaced. */
  readonly locksOpenFiles?: true;
  /** A move of a file keeps its date, and the server refuses it where something has the name. */
  readonly movesByRename?: true;
  /** Each piece of 32 KiB that is read is a question to the server. */
  readonly readsPieceByPiece?: true;
  /** What no name may have, beside what no path has. */
  readonly refusedCharacters?: string;
  /** Digests of listings cost a call for each file. */
  readonly hasDearHashes?: true;
  /** The server follows links that are not listed: a path leads only through what is. */
  readonly followsLinks?: true;
  /** A folder that rclone takes for empty goes with what rclone does not list: this tells more. */
  readonly openEmptiness?: (context: OpenContext) => Emptiness;
  /** May throw what is wrong with the items. */
  readonly openWay: (context: OpenContext) => RemoteWay;
  /** Whose rclone it is; default: the child of this process. */
  readonly source?: (context: OpenContext) => RcdSource;
}

/** A smaller file has come before rclone has begun to read ahead. */
const AHEAD_FROM_BYTES = 1024 * 1024;
/** So often the name may be given to something else between a question and its answer. */
const MAX_TRIES = 100;

type Publishing = Pick<WriteOptions, 'overwrite' | 'beforePublish'>;

/** A folder of a server that rclone speaks to. README tells the whole. */
export class RcloneDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly write?: NonNullable<StorageDriver['write']>;
  readonly makeDirectory?: NonNullable<StorageDriver['makeDirectory']>;
  readonly remove?: NonNullable<StorageDriver['remove']>;
  readonly rename?: NonNullable<StorageDriver['rename']>;
  readonly copy?: NonNullable<StorageDriver['copy']>;
  readonly space?: NonNullable<StorageDriver['space']>;
  readonly #places: RootPlaces;
  readonly #client: RcloneClient;
  readonly #root: RemoteRoot;
  readonly #calls: Calls;
  readonly #temps: TempFiles;
  readonly #features: Features;
  readonly #buckets: BucketFolders | undefined;
  readonly #refused: string;
  readonly #movesByRename: boolean;
  readonly #readsAhead: boolean;
  readonly #locks: PathLocks;
  readonly #emptiness: Emptiness | undefined;
  /** How often a file has been replaced through this driver. */
  #placed = 0;

  private constructor(
    settings: RcloneSettings,
    client: RcloneClient,
    root: RemoteRoot,
    calls: Calls,
    temps: TempFiles,
    features: Features,
    locks: PathLocks,
    emptiness: Emptiness | undefined,
  ) {
    this.#locks = locks;
    this.#emptiness = emptiness;
    this.#places = settings.places;
    this.#client = client;
    this.#root = root;
    this.#calls = calls;
    this.#temps = temps;
    this.#features = features;
    this.#buckets = features.keepsEmptyFolders ? undefined : new BucketFolders(client);
    const { refusedCharacters = '', movesByRename = false } = settings;
    this.#refused = refusedCharacters;
    this.#movesByRename = movesByRename;
    this.#readsAhead = settings.readsPieceByPiece ?? false;
    if (movesByRename) client.leaveTakenNamesToServer();
    this.traits = {
      caseSensitive: root.isCaseSensitive,
      keepsEmptyDirectories: true,
      modTimeStepMs: undefined,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: false,
      copiesFolders: false,
      ...(settings.locksOpenFiles && { locksOpenFiles: true }),
      ...(refusedCharacters !== '' && { refusedNames: { characters: refusedCharacters, endings: '', stems: [] } }),
      ...(!features.streams && { needsSize: true }),
    };
    // What neither takes a content of unknown size nor gives a file its name in one step cannot be written to without half a file being seen.
    if (features.streams || features.moves) {
      this.write = (path, content, options) => this.#write(path, content, options);
      this.makeDirectory = (path, options) => this.#makeDirectory(path, options);
      this.remove = (path, options) => this.#remove(path, options);
      if (features.moves) this.rename = (from, to, options) => this.#rename(from, to, options);
      if (features.copies) this.copy = (from, to, options) => this.#copy(from, to, options);
    }
    if (features.tellsSpace) this.space = (options) => this.#space(options);
  }

  /** @throws AppError STORAGE_LOGIN_FAILED | FAILED_PRECONDITION (no such share or folder; no rclone), in words for the admin */
  static async open(settings: RcloneSettings, context: OpenContext): Promise<RcloneDriver> {
    const source = settings.source?.(context) ?? ownRcd(context.egress);
    const client = new RcloneClient(settings.openWay(context), source);
    const emptiness = settings.openEmptiness?.(context);
    const calls = new Calls();
    const temps = new TempFiles(
      {
        placeOf: (folder, name) => root.place(folder === MOUNT_ROOT ? `/${name}` : `${folder}/${name}`),
        remove: (place) => removeOurs(client, place),
        isRefusal: (error) => !isAway(error),
        isThere: async (place) => (await client.find(place, {})) !== undefined,
        move: async (from, to, isRespelled) => moveSurely(client, from, to, (await client.find(from, {}))?.isFolder ?? false, isRespelled),
        alone: (path, work) => locks.run(lockOf(path), () => work().finally(() => root.forget())),
        folders: {
          make: (place) => client.makeFolder(place, {}),
          remove: (place) => client.removeFolder(place, {}),
          async *namesIn(place) {
            for await (const { name } of client.list(place, { signal: calls.connecting })) yield name;
          },
        },
        warn: context.warn,
      },
      calls,
    );
    const locks = new PathLocks();
    const root = new RemoteRoot(client, settings.places);
    try {
      return await calls.run({ signal: context.signal }, async (call) => {
        const said = await client.features(settings.places.root, call);
        const features = { ...said, tellsSpace: said.tellsSpace && (await tellsSpace(client, settings.places, call)) };
        if (!settings.hasDearHashes) client.askForHashes(features.hashes);
        if (features.hasBuckets) await new BucketFolders(client).openRoot(settings.places.root, call);
        else if (!(await isFolder(client, settings.places.root, call))) {
          throw new AppError('FAILED_PRECONDITION', `root folder ${settings.rootPath} not exists`);
        }
        root.learn({
          ...(features.keepsEmptyFolders && (features.moves || features.streams)
            ? await probeNames(client, settings.places.root, () => temps.newPlace(MOUNT_ROOT), call)
            : { caseSensitive: true, folds: false }),
          isBucket: features.hasBuckets,
          followsLinks: settings.followsLinks ?? false,
        });
        const driver = new RcloneDriver(settings, client, root, calls, temps, features, locks, emptiness);
        calls.track(driver.#sweepRoot());
        return driver;
      });
    } catch (error) {
      await calls.close();
      client.close();
      emptiness?.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    this.#checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal }, async (call) => this.#toEntry(nameAt(path), await this.#get(path, call)));
  }

  async *list(directory: MountPath, { signal }: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#checkReachable(directory);
    const until = this.#calls.until(signal);
    using listed = new NameSet();
    const left = this.#temps.asides.gather(directory);
    let isEmpty = true;
    try {
      if (!(await this.#root.isSpelled(directory, { signal: until }))) throw storageError('ENTRY_NOT_FOUND');
      for await (const entry of this.#client.list(this.#root.place(directory), { signal: until })) {
        throwIfAborted(until);
        const { name } = entry;
        // Some servers list a file as a folder that holds it.
        if (isEmpty && !entry.isFolder && name === baseName(directory)) await this.#checkFolder(directory, { signal: until });
        isEmpty = false;
        if (isReservedName(name)) {
          left.add(name);
          this.#temps.sweep(directory, name, entry.modifiedAt.getTime());
        } else if (isEntryName(name) && !this.#isPlaceholder(name) && listed.add(name)) yield this.#toEntry(name, entry);
      }
      // Stores of objects list what is not there as empty.
      if (isEmpty && this.#buckets && directory !== MOUNT_ROOT) throw storageError('ENTRY_NOT_FOUND');
      this.#temps.removeLeft();
      const isListed = (name: EntryName) => !listed.add(name);
      yield* this.#temps.asides.bringLeft(directory, left, isListed, (path) => this.stat(path, { signal }), signal);
    } catch (error) {
      throwIfAborted(until);
      if (directory === MOUNT_ROOT || AppError.is(error, 'STORAGE_LOGIN_FAILED')) throw error;
      // Nobody is there to be asked before that time.
      if (AppError.is(error) && error.details.retryAfterMs !== undefined) throw error;
      // Servers have many words for a file that was taken for a folder.
      const there = await this.#root.find(directory, { signal: until });
      if (there === undefined) throw storageError('ENTRY_NOT_FOUND', error);
      throw there.isFolder ? error : storageError('NOT_A_DIRECTORY', error);
    }
  }

  async read(path: MountPath, range?: ByteRange, { signal }: CallOptions = {}): Promise<FileContent> {
    this.#checkReachable(path);
    const until = this.#calls.until(signal);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal }, async () => {
      const entry = this.#toEntry(nameAt(path), await this.#get(path, { signal: until }));
      if (entry.isDirectory) throw storageError('IS_A_DIRECTORY');
      const { sizeBytes } = entry;
      const { start, end } = resolveRange(range, sizeBytes ?? Number.POSITIVE_INFINITY);
      if (start >= end) return emptyContent(entry, { signal: until });
      const place = this.#root.place(path);
      if (sizeBytes === undefined) return this.#readUncounted(entry, place, { start, end }, until);
      const answer =
        this.#readsAhead && end - start === sizeBytes && sizeBytes >= AHEAD_FROM_BYTES
          ? await this.#client.readAhead(place, sizeBytes, { signal: until })
          : await this.#client.read(place, start, end, sizeBytes, { signal: until });
      return rangeContent(entry, { answer, start, end }, { signal: until });
    });
  }

  /** What comes tells how much of it there is. */
  async #readUncounted(
    entry: Entry,
    place: Place,
    { start, end }: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<FileContent> {
    const answer = await this.#client.readUncounted(place, { signal });
    try {
      const file = answeredRange(answer, start, end === Number.POSITIVE_INFINITY ? undefined : end);
      if (file.end !== Number.POSITIVE_INFINITY && file.sizeBytes !== undefined) return rangeContent(entry, file, { signal });
      return openEndContent(entry, file.answer, end - start, { signal });
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }

  async #write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    this.#checkWritable(path);
    if (path === MOUNT_ROOT) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    return this.#calls.run(options, async (call) => {
      await this.#ensureFolder(parentPath(path), call);
      if (isWorthAsking(options)) await this.#checkReplaceable(path, options.overwrite, call);
      const sent = sentContent(content, { ...options, signal: call.signal });
      const checkStored = async (place: Place) => {
        sent.requireWhole();
        const stored = await this.#client.findFile(place, {});
        if (stored === undefined || stored.sizeBytes !== sent.bytes()) {
          throw storageError('CONTENT_CORRUPT', new Error(`${sent.bytes()} bytes were sent, the server has ${stored?.sizeBytes}`));
        }
        return stored;
      };
      let stored: RemoteEntry | undefined;
      if (this.#features.moves) {
        stored = await this.#putTogether(path, options, call, async (place) => {
          await this.#send(place, sent.pieces, options, call);
          return checkStored(place);
        });
      } else {
        await this.#writeInPlace(path, sent.pieces, options, call);
        stored = await checkStored(this.#root.place(path));
      }
      this.#temps.removeLeft();
      this.#root.placed(path);
      return stored ? this.#toEntry(nameAt(path), stored) : this.#placedFile(path);
    });
  }

  /**
   * Fills a place of ours, and gives what is there its name. Whatever fails, nothing is left.
   *
   * @param fill answers what the server has there
   * @returns what has the name, where that is known without another look
   */
  async #putTogether(
    path: MountPath,
    options: Publishing,
    call: Call,
    fill: (place: Place) => Promise<RemoteEntry>,
  ): Promise<RemoteEntry | undefined> {
    const place = this.#temps.newPlace(parentPath(path));
    try {
      const filled = await fill(place);
      let placed: RemoteEntry | undefined;
      await this.#publish(path, options, call, async (isTaken) => {
        if (isTaken) placed = await this.#replace(place, path, filled.sizeBytes);
        else await moveSurely(this.#client, place, this.#root.place(path), false);
      });
      // Nothing that was said of it changes with its name.
      return this.#movesByRename ? filled : placed;
    } catch (error) {
      if (!(error instanceof Lost)) await this.#temps.discard(place);
      throw error;
    }
  }

  /**
   * Puts a file in the place of another, which is removed when the new one is seen to have its name: some servers say so before, or never do it.
   *
   * @returns what was seen; undefined where the move itself is known by its own look
   */
  async #replace(from: Place, path: MountPath, sizeBytes: number | undefined): Promise<RemoteEntry | undefined> {
    const to = this.#root.place(path);
    let placed: RemoteEntry | undefined;
    await replaceFile(this.#client, from, to, path, this.#temps.asides, async () => {
      // rclone looks for what it has renamed there.
      if (this.#movesByRename) return;
      placed = await this.#client.findFile(to, {});
      if (placed !== undefined && (sizeBytes === undefined || placed.sizeBytes === sizeBytes)) return;
      // The name must be free for what stepped aside. It may be all that there is of what was moved.
      if (placed && (await this.#client.findFile(from, {}))) await whenUnused(() => this.#client.removeFile(to, {}));
      else if (placed) await moveSurely(this.#client, to, from, false);
      throw storageError('STORAGE_UNAVAILABLE', new Error(`${sizeBytes} bytes were moved, the server has ${placed?.sizeBytes}`));
    });
    return placed;
  }

  /** @throws AppError INVALID_ARGUMENT: the size must be known */
  async #send(place: Place, content: AsyncGenerator<Uint8Array, void>, { sizeBytes }: WriteOptions, call: Call): Promise<void> {
    if (this.#features.streams) return this.#client.write(place, content, call);
    if (sizeBytes === undefined) {
      await content.return(undefined);
      throw storageError('INVALID_ARGUMENT');
    }
    return this.#client.writeSized(place, content, sizeBytes, call);
  }

  /** For stores that show a file when it is whole: the last look is taken before rclone is told that this is all. */
  async #writeInPlace(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions, call: Call): Promise<void> {
    const written = Promise.withResolvers<void>();
    const place = this.#root.place(path);
    let publishing: Promise<void> | undefined;
    const beforeEnd = async () => {
      const ready = Promise.withResolvers<void>();
      publishing = this.#publish(path, options, call, async () => {
        ready.resolve();
        await written.promise;
      });
      publishing.catch(ready.reject);
      await ready.promise;
    };
    try {
      await this.#client.write(place, content, call, beforeEnd);
    } finally {
      written.resolve();
      await publishing?.catch(() => undefined);
    }
  }

  async #makeDirectory(path: MountPath, { signal, afterWaiting }: CallOptions = {}): Promise<Entry> {
    this.#checkWritable(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#root.find(path, call);
      if (there !== undefined && !there.isFolder) throw storageError('ENTRY_EXISTS');
      return this.#toEntry(nameAt(path), there ?? (await this.#ensureFolder(path, call, true)) ?? (await this.#get(path, call)));
    });
  }

  async #remove(path: MountPath, { signal, afterWaiting, recursive, onlyIf }: RemoveOptions): Promise<void> {
    this.#checkReachable(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    await this.#temps.asides.bringMissed(path, signal);
    await this.#calls.run({ signal, afterWaiting }, async (call) => {
      const there = await this.#get(path, call);
      requireUnchanged(onlyIf, this.#toEntry(nameAt(path), there));
      // rclone ends a content that broke off as one that is whole: of unknown size, what was read of it may be a part.
      if (onlyIf && !there.isFolder && there.sizeBytes === undefined) throw storageError('STALE_VERSION');
      await call.stillWanted();
      this.#root.forget();
      const place = this.#root.place(path);
      if (!there.isFolder) await whenUnused(() => this.#client.removeFile(place, call));
      else if (recursive) await this.#client.purge(place, call);
      else if (this.#buckets) await this.#buckets.removeEmpty(place, call);
      else await this.#removeEmpty(place, call);
      if (there.isFolder) await this.#requireGone(path, recursive);
      const parent = parentPath(path);
      if (parent !== MOUNT_ROOT) await this.#buckets?.keep(this.#root.place(parent), {});
    });
  }

  /** @throws AppError DIRECTORY_NOT_EMPTY */
  async #removeEmpty(place: Place, call: CallOptions): Promise<void> {
    await this.#emptiness?.check(place, call);
    await this.#client.removeFolder(place, call);
  }

  /**
   * What rclone removes entry by entry it tells as gone where the folder could not go at the end, and of WebDAV also where the server says what is left.
   *
   * @throws AppError DIRECTORY_NOT_EMPTY: something is left
   */
  async #requireGone(path: MountPath, isPurged: boolean): Promise<void> {
    const isTold = isPurged ? this.#features.purges || this.#buckets !== undefined : true;
    if (isTold && this.#emptiness === undefined) return;
    if ((await this.#root.find(path, {})) !== undefined) throw storageError('DIRECTORY_NOT_EMPTY');
  }

  async #rename(from: MountPath, to: MountPath, { signal, afterWaiting, overwrite }: PlaceOptions): Promise<Entry> {
    this.#checkReachable(from);
    this.#checkWritable(to);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal, afterWaiting }, (call) =>
      this.#locks.run(lockOf(to), async () => {
        const source = await this.#get(from, call);
        if (source.isFolder && !this.#features.movesFolders) throw storageError('UNSUPPORTED_OPERATION');
        await this.#checkFolder(parentPath(to), call);
        if (from === to) return this.#toEntry(nameAt(to), source);
        const isRespelled = await this.#root.isRespelled(from, to, call);
        const there = isRespelled ? undefined : await this.#root.findAny(to, call);
        if (there !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
        if (there && source.isFolder && !there.isFolder) throw storageError('NOT_A_DIRECTORY');
        if (there && !source.isFolder && there.isFolder) throw storageError('IS_A_DIRECTORY');
        await call.commit();
        this.#root.forget();
        const placed = await this.#place(from, to, source, there !== undefined, isRespelled).finally(() => this.#root.forget());
        if (source.isFolder) return this.#toEntry(nameAt(to), await this.#get(to, {}));
        return placed ? this.#toEntry(nameAt(to), placed) : this.#placedFile(to);
      }),
    );
  }

  async #copy(from: MountPath, to: MountPath, { signal, afterWaiting, overwrite }: PlaceOptions): Promise<Entry> {
    this.#checkReachable(from);
    this.#checkWritable(to);
    if (from !== to && isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, signal);
    return this.#calls.run({ signal, afterWaiting }, async (call) => {
      const source = await this.#get(from, call);
      await this.#checkFolder(parentPath(to), call);
      const there = await this.#root.findAny(to, call);
      if (from === to) throw storageError('ENTRY_EXISTS');
      if (source.isFolder) throw storageError('UNSUPPORTED_OPERATION');
      if (there !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
      if (there?.isFolder) throw storageError('IS_A_DIRECTORY');
      const at = this.#root.place(from);
      const checkWhole = async (place: Place) => {
        const copied = await this.#client.findFile(place, {});
        if (copied === undefined || copied.sizeBytes !== source.sizeBytes) throw storageError('CONTENT_CORRUPT');
        return copied;
      };
      let copied: RemoteEntry | undefined;
      if (this.#features.moves) {
        copied = await this.#putTogether(to, { overwrite }, call, async (place) => {
          await this.#client.copy(at, place, call);
          return checkWhole(place);
        });
      } else {
        const place = this.#root.place(to);
        await this.#publish(to, { overwrite }, call, () => this.#client.copy(at, place, {}));
        copied = await checkWhole(place);
      }
      return copied ? this.#toEntry(nameAt(to), copied) : this.#placedFile(to);
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    this.#client.close();
    this.#emptiness?.close();
  }

  async #space({ signal }: CallOptions = {}): Promise<Space> {
    return this.#calls.run({ signal }, async (call) => {
      const space = await this.#client.space(this.#places.space ?? this.#places.root, call);
      if (space === undefined) throw storageError('STORAGE_UNAVAILABLE');
      return space;
    });
  }

  /**
   * @param place gives the file its name; told whether another one has it
   * @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY | STALE_VERSION; what `beforePublish` throws; what `place` throws
   */
  async #publish(
    path: MountPath,
    { overwrite, beforePublish }: Publishing,
    call: Call,
    place: (isTaken: boolean) => Promise<void>,
  ): Promise<void> {
    await this.#temps.asides.bringMissed(path, call.signal);
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const placed = this.#placed;
      const before = beforePublish && (await this.#checkReplaceable(path, overwrite, call));
      await beforePublish?.();
      // The protocol cannot ask and change in one step: among the calls of one process this does it.
      const isPlaced = await this.#locks.run(lockOf(path), async () => {
        const file = this.#movesByRename ? await this.#client.findFile(this.#root.place(path), call) : undefined;
        if (this.#movesByRename && !beforePublish && file === undefined && (await this.#placeAt(place, false, call))) return true;
        const there = await this.#checkReplaceable(path, overwrite, call, file);
        // Where dates are on whole seconds, two files of one size look alike: what we have placed ourselves meanwhile counts too.
        if (beforePublish && !(isSame(before, there) && placed === this.#placed)) return false;
        if (!(await this.#placeAt(place, there !== undefined, call))) return false;
        if (there !== undefined) this.#placed += 1;
        return true;
      });
      if (isPlaced) return;
    }
    throw storageError('STALE_VERSION');
  }

  /** @returns false where a server that never replaces by a move says that the name was taken meanwhile */
  async #placeAt(place: (isTaken: boolean) => Promise<void>, isTaken: boolean, call: Call): Promise<boolean> {
    await call.commit();
    try {
      await place(isTaken);
      return true;
    } catch (error) {
      if (!this.#movesByRename || !AppError.is(error, 'ENTRY_EXISTS')) throw error;
      // What was listed is not what has the name.
      this.#root.forget();
      return false;
    }
  }

  /** Of what `rename` has looked at. @returns as #replace */
  async #place(
    from: MountPath,
    to: MountPath,
    { isFolder, sizeBytes }: RemoteEntry,
    isTaken: boolean,
    isRespelled: boolean,
  ): Promise<RemoteEntry | undefined> {
    const [source, target] = [this.#root.place(from), this.#root.place(to)];
    if (isRespelled) {
      // By way of a name of ours: rclone takes the two for one.
      await this.#temps.asides.stepAside(
        from,
        async (aside) => {
          await moveSurely(this.#client, source, aside, isFolder);
          // rclone would remove what answers to the name now.
          if (!isFolder && (await this.#client.findFile(target, {}))) throw storageError('ENTRY_EXISTS');
          await moveSurely(this.#client, aside, target, isFolder, true);
        },
        { isRespelled: true },
      );
    } else if (!isTaken) await moveSurely(this.#client, source, target, isFolder);
    else if (!isFolder) return this.#replace(source, to, sizeBytes);
    else {
      await this.#removeEmpty(target, {});
      await moveSurely(this.#client, source, target, true).catch(async (error: unknown) => {
        await this.#client.makeFolder(target, {}).catch(() => undefined);
        throw error;
      });
    }
    return undefined;
  }

  /** @throws AppError ENTRY_EXISTS (also of what is spelled otherwise) | IS_A_DIRECTORY */
  async #checkReplaceable(path: MountPath, overwrite: boolean, call: CallOptions, file?: RemoteEntry): Promise<RemoteEntry | undefined> {
    const there = await this.#root.findAny(path, call, file);
    if (there !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
    if (there?.isFolder) throw storageError('IS_A_DIRECTORY');
    return there;
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async #get(path: MountPath, call: CallOptions): Promise<RemoteEntry> {
    const there = await this.#root.find(path, call);
    if (there === undefined) throw storageError('ENTRY_NOT_FOUND');
    return there;
  }

  /** A file that was given this name just now, so nothing has another spelling of it. @throws AppError ENTRY_NOT_FOUND: it is gone already */
  async #placedFile(path: MountPath): Promise<Entry> {
    const file = await this.#client.findFile(this.#root.place(path), {});
    if (file === undefined) throw storageError('ENTRY_NOT_FOUND');
    return this.#toEntry(nameAt(path), file);
  }

  /** @throws AppError NOT_A_DIRECTORY | ENTRY_NOT_FOUND */
  async #checkFolder(path: MountPath, call: CallOptions): Promise<void> {
    if (this.#root.isKnownFolder(path)) return;
    if (!(await this.#get(path, call)).isFolder) throw storageError('NOT_A_DIRECTORY');
    this.#root.know(path);
  }

  /**
   * Makes a folder with those above it, as far as they are missing.
   *
   * @param isMissing it was looked for. @returns what was seen of it. @throws AppError NOT_A_DIRECTORY | ENTRY_EXISTS (spelled otherwise)
   */
  async #ensureFolder(path: MountPath, call: Call, isMissing = false): Promise<RemoteEntry | undefined> {
    if (path === MOUNT_ROOT) await this.#root.checkRoot(call);
    if (path === MOUNT_ROOT || (!isMissing && this.#root.isKnownFolder(path))) return undefined;
    // It is there most often, and then a look for a free name would list all that is in it.
    const there = (isMissing ? undefined : await this.#root.find(path, call)) ?? (await this.#root.findAny(path, call));
    if (there !== undefined && !there.isFolder) throw storageError('NOT_A_DIRECTORY');
    const folder = there ?? (await this.#makeFolder(path, call));
    this.#root.know(path);
    return folder;
  }

  /** @returns and throws as `findMade` */
  async #makeFolder(path: MountPath, call: Call): Promise<RemoteEntry | undefined> {
    await this.#ensureFolder(parentPath(path), call);
    await call.stillWanted();
    await (this.#buckets ?? this.#client).makeFolder(this.#root.place(path), call).catch(async (error: unknown) => {
      // Somebody else may have been faster.
      if (isAway(error) || !(await this.#root.find(path, call))?.isFolder) throw error;
    });
    return this.#root.findMade(path, call);
  }

  #isPlaceholder(name: string): boolean {
    return this.#buckets !== undefined && name === PLACEHOLDER;
  }

  #checkReachable(path: MountPath): void {
    checkReachable(path);
    if (this.#buckets && pathSegments(path).includes(PLACEHOLDER as EntryName)) throw storageError('ENTRY_NOT_FOUND');
  }

  #checkWritable(path: MountPath): void {
    checkUnreserved(path);
    if (this.#buckets && pathSegments(path).includes(PLACEHOLDER as EntryName)) throw storageError('PERMISSION_DENIED');
    if ([...this.#refused].some((character) => path.includes(character))) throw storageError('INVALID_ARGUMENT');
  }

  #toEntry(name: EntryName, { isFolder, sizeBytes, modifiedAt, hashes }: RemoteEntry): Entry {
    // Folders of stores of objects have no date.
    if (isFolder) return { name, isDirectory: true, sizeBytes: 0, modifiedAt: this.#buckets ? new Date(0) : modifiedAt };
    // Their listings are more exact than what they say of one.
    const dated = this.#buckets ? new Date(Math.floor(modifiedAt.getTime() / 1_000) * 1_000) : modifiedAt;
    return { name, isDirectory: false, sizeBytes, modifiedAt: dated, ...(hashes && { hashes }) };
  }

  /** Removes what ended processes left in the root. */
  async #sweepRoot(): Promise<void> {
    for await (const _ of this.list(MOUNT_ROOT));
  }
}

/** Some servers say that they do, and do not. */
async function tellsSpace(client: RcloneClient, { root, space = root }: RootPlaces, call: Call): Promise<boolean> {
  try {
    return (await client.space(space, call)) !== undefined;
  } catch (error) {
    // Where the root is not there, a look at it says so.
    if (AppError.is(error, 'UNSUPPORTED_OPERATION') || AppError.is(error, 'ENTRY_NOT_FOUND')) return false;
    throw error;
  }
}

/** A file of ours, or a folder that a look at the server's names has left. */
async function removeOurs(client: RcloneClient, place: string): Promise<void> {
  try {
    await client.removeFile(place, {});
  } catch (error) {
    // Servers have many words for a folder that was taken for a file.
    const there = await client.find(place, {});
    if (there?.isFolder) await client.purge(place, {});
    else if (there) throw error;
  }
}

/** What is one name to some servers is changed by one call at a time. */
function lockOf(path: MountPath): string {
  return foldedName(path.normalize('NFC'));
}

function isSame(one: RemoteEntry | undefined, other: RemoteEntry | undefined): boolean {
  return one?.sizeBytes === other?.sizeBytes && one?.modifiedAt.getTime() === other?.modifiedAt.getTime();
}
