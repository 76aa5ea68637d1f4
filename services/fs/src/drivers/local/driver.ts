import fs from 'node:fs';
import { promisify } from 'node:util';
import { AppError } from '@wharf/errors';
import { collectGarbage, createTurns, memoryBytes, ownBytes, ownText } from '@wharf/pace';
import { childPath, type EntryName, type MountPath } from '@wharf/paths';
import { type Call, Calls } from '../../driver-contract/calls.ts';
import { isDraftId } from '../../driver-contract/draft.ts';
import type { NameTraits } from '../../driver-contract/folding.ts';
import { createLane } from '../../driver-contract/lane.ts';
import { createNamesLane, LETTER_BYTES, namesRoom } from '../../driver-contract/long-listings.ts';
import type {
  ByteRange,
  CallOptions,
  CopyOptions,
  Draft,
  DraftOptions,
  DriverTraits,
  Entry,
  FileContent,
  HostFile,
  ListNamesOptions,
  NameListing,
  PlaceOptions,
  ReadManyOptions,
  RemoveOptions,
  Space,
  StatManyOptions,
  StorageDriver,
  WholeFile,
  WholeWrite,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { checkReachable, checkUnreserved, isReservedName, isReservedPath } from '../../driver-contract/temp-names.ts';
import { unlessRefused } from '../../driver-contract/unless-refused.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';
import { wholeContent } from '../../driver-contract/whole-content.ts';
import type { LocalSettings } from './config.ts';
import { type Disk, DiskPool } from './disk-pool.ts';
import type { ListedNames, OnlyShort } from './disk-reads.ts';
import type { PlacedWrite } from './disk-writes.ts';
import { fromDisk, toAppError } from './errors.ts';
import { fileContent, inlineContent } from './file-content.ts';
import { GatheredLooks } from './gathered-looks.ts';
import { LastSeenEntries } from './last-seen-entries.ts';
import { LocalDraft } from './local-draft.ts';
import { monotonicMs } from './monotonic.ts';
import { NUMBERS_PER_ENTRY, type PackedEntry, unpackEntry, unpackOne } from './packed-entries.ts';
import { publishFile } from './publish-file.ts';
import { pumpContent } from './pump-content.ts';
import type { TempRef } from './temp-area.ts';

/** So many entries are looked at in one turn of the worker: a few milliseconds. */
const ENTRIES_PER_TURN = 1000;
/** A file of up to so many bytes goes to the worker in one message: that costs less than to write it here, and the thread is held for a moment only. */
const WHOLE_BYTES = 64 * 1024;
/** Folders that are copied at a time: more go no quicker on one disk, and each holds the names of the folders that it is in. */
const FOLDER_COPIES = { size: 4, share: 2 } as const;
/** Reads of a long folder that a thread is given at a time for those who go through its entries: it does one after the other, and all others wait for these. */
const LONG_READS = { size: 2, share: 1, waitMs: 30_000 } as const;
/** Before a read that takes more, in bytes, garbage is collected where more than this share of the memory is in use: there may be no room for it beside that. */
const MUCH_BYTES = 64 * 1024 * 1024;
const FULL_SHARE = 0.6;
/** Of all storages. */
const longNames = createNamesLane();
/** Names of a longer text together are split by one caller in each turn of the event loop. */
const MAX_AT_ONCE_LENGTH = 256 * 1024;

const setTimes = promisify(fs.futimes);
const closeHandle = promisify(fs.close);

/** A folder of this machine. Metadata is the workers' business, bytes of files flow through this thread. README tells the whole. */
export class LocalDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #disk: Disk;
  readonly #addsUpFolders: boolean;
  readonly #lastSeen = new LastSeenEntries();
  readonly #looks = new GatheredLooks();
  readonly #takeTurn = createTurns();
  readonly #folderCopies = createLane(FOLDER_COPIES);
  readonly #longReads = createLane(LONG_READS);
  /** Those that take something back when they fail. */
  readonly #calls = new Calls();

  private constructor(disk: Disk, { caseSensitive }: NameTraits, addsUpFolders: boolean) {
    this.traits = {
      caseSensitive,
      keepsEmptyDirectories: true,
      modTimeStepMs: 1,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: true,
      copiesFolders: true,
      drafts: { order: 'any', readsBack: true },
    };
    this.#disk = disk;
    this.#addsUpFolders = addsUpFolders;
  }

  /** @throws AppError, for the admin: `root folder <path> not exists` */
  static async open(settings: LocalSettings, { signal }: CallOptions, disk: Disk = new DiskPool(settings)): Promise<LocalDriver> {
    try {
      const { names } = await disk.start(signal);
      return new LocalDriver(disk, names, settings.addsUpFolders);
    } catch (error) {
      await disk.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkReachable(path);
    return this.#finish(path, await this.#disk.call('stat', [path], signal), signal);
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    const { signal, seesAll, beforeNames } = options;
    checkReachable(directory);
    const read = (onlyShort: OnlyShort) => this.#disk.call('list', [directory, ENTRIES_PER_TURN, seesAll === true, onlyShort], signal);
    let listed = await read('by its size');
    const { tooLong: size } = listed;
    if (size !== undefined) {
      const readAll = async () => {
        const { tooLong } = beforeNames ? await read('by its names') : { tooLong: 0 };
        if (tooLong !== undefined) beforeNames?.(LETTER_BYTES * tooLong);
        return read(false);
      };
      listed = await this.#longReads.run(options, () => withLongNames(size, options, readAll));
    }
    let isFirst = true;
    for (const turn of namesInTurns(listed.names)) {
      const look = () => this.#disk.call('statMany', [directory, turn.join('/')], signal);
      const packed = isFirst ? listed.stats : await this.#longReads.run(options, look);
      isFirst = false;
      for (const entry of unpackAll(turn, packed)) {
        throwIfAborted(signal);
        yield this.#addsUpFolders ? await this.#withSize(entry, childPath(directory, entry.name), signal) : entry;
      }
    }
  }

  async listNames(
    directory: MountPath,
    knownVersion: string | undefined,
    options: ListNamesOptions = {},
  ): Promise<NameListing | undefined> {
    checkReachable(directory);
    const read = (onlyShort: boolean) => this.#disk.call('listNames', [directory, knownVersion, onlyShort], options.signal);
    const listed = await read(true);
    if (listed?.tooLong === undefined) return listed && this.#namesOf(listed);
    if (options.onlyShort) return { version: undefined, names: [], directories: new Set(), longLetters: listed.tooLong };
    return withLongNames(listed.tooLong, options, async () => {
      const all = await read(false);
      return all && this.#namesOf(all);
    });
  }

  async #namesOf(listed: ListedNames & { readonly folders: Uint32Array }): Promise<NameListing> {
    // Those who share the call have its answer in the same moment: to split it for all of them at once would hold up everybody.
    if (listed.names.length > MAX_AT_ONCE_LENGTH) await this.#takeTurn();
    const names = splitNames(listed.names);
    const directories = new Set<EntryName>();
    for (const index of listed.folders) {
      const name = names[index];
      if (name !== undefined) directories.add(name);
    }
    return { version: listed.version, names, directories };
  }

  async statMany(
    directory: MountPath,
    names: readonly EntryName[],
    { signal, ifVersion }: StatManyOptions = {},
  ): Promise<readonly Entry[]> {
    checkReachable(directory);
    const reachable = names.filter((name) => !isReservedName(name));
    const pages: (readonly Entry[])[] = [];
    for (let from = 0; from < reachable.length || from === 0; from += ENTRIES_PER_TURN) {
      const turn = reachable.slice(from, from + ENTRIES_PER_TURN);
      // What is kept of it would keep the text of all names of a long folder.
      const text = ownText(turn.join('/'));
      const packed = await this.#looks.run(directory, turn.length, () => this.#disk.call('statMany', [directory, text, ifVersion], signal));
      pages.push(this.#lastSeen.entriesOf(directory, { text, packed }, () => unpackAll(splitNames(text), packed)));
    }
    const [first = []] = pages;
    const entries = pages.length === 1 ? first : pages.flat();
    if (!this.#addsUpFolders) return entries;
    const sized: Entry[] = [];
    for (const entry of entries) sized.push(await this.#withSize(entry, childPath(directory, entry.name), signal));
    return sized;
  }

  async read(file: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    checkReachable(file);
    const opened = await this.#disk.call('open', [file, range], options.signal, ({ fd }) => {
      if (fd !== undefined) fs.close(fd, () => undefined);
    });
    const entry = unpackOne(file, opened.stats);
    const { fd, bytes, start, end } = opened;
    if (fd !== undefined) return fileContent(entry, fd, start, end, this.#disk.slots, options);
    return inlineContent(entry, bytes ?? new Uint8Array());
  }

  async write(file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    checkUnreserved(file);
    return this.#calls.run(options, (call) => this.#write(file, content, { ...options, signal: call.signal }, call));
  }

  async readMany(files: readonly MountPath[], { signal, maxBytes }: ReadManyOptions): Promise<(WholeFile | undefined)[]> {
    const reachable = files.filter((file) => !isReservedPath(file));
    // A call of many is one turn of the worker, so it is for small files only.
    const read = await this.#disk.call('readMany', [reachable, Math.min(maxBytes, WHOLE_BYTES)], signal);
    const found = new Map(reachable.map((file, index) => [file, read.files[index]]));
    return files.map((file) => {
      const small = found.get(file);
      return small && { entry: unpackOne(file, small.stats), bytes: read.bytes.subarray(small.start, small.end) };
    });
  }

  writeMany(files: readonly WholeWrite[], { signal }: CallOptions = {}): Promise<readonly (Entry | AppError)[]> {
    const write = (allowed: readonly WholeWrite[]) => this.#calls.run({ signal }, (call) => this.#writeMany(allowed, call));
    return unlessRefused(files, ({ file }) => checkUnreserved(file), write);
  }

  async openDraft(file: MountPath, id: string, { signal, create }: DraftOptions): Promise<Draft> {
    checkUnreserved(file);
    if (!isDraftId(id)) throw storageError('ENTRY_NOT_FOUND');
    return LocalDraft.open(this.#disk, file, id, { create, signal });
  }

  async makeDirectory(directory: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkUnreserved(directory);
    return this.#finish(directory, await this.#disk.call('makeDirectory', [directory], signal), signal);
  }

  async remove(path: MountPath, { signal, recursive, onlyIf }: RemoveOptions): Promise<void> {
    checkReachable(path);
    await this.#disk.call('remove', [path, recursive, onlyIf], signal);
  }

  async rename(from: MountPath, to: MountPath, { signal, overwrite }: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    throwIfAborted(signal);
    // It goes on where it has begun: whoever waits learns what became of it.
    return this.#finish(to, await this.#disk.call('rename', [from, to, overwrite], undefined), undefined);
  }

  async copy(from: MountPath, to: MountPath, options: CopyOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    const copied = () => this.#copy(from, to, options);
    return options.isTree ? this.#folderCopies.run(options, copied) : copied();
  }

  async #copy(from: MountPath, to: MountPath, { signal, overwrite, beforeCopy }: CopyOptions): Promise<Entry> {
    if (beforeCopy) {
      const { bytes, entries } = await this.#disk.call('sizeUpCopy', [from], signal);
      await beforeCopy(bytes, entries);
    }
    // Whoever has left by its end is told all the same that it is there.
    return this.#finish(to, await this.#disk.call('copy', [from, to, overwrite], signal), undefined);
  }

  async space({ signal }: CallOptions = {}): Promise<Space> {
    return this.#disk.call('space', [], signal);
  }

  async findOnHost(file: MountPath, { signal }: CallOptions = {}): Promise<HostFile> {
    checkReachable(file);
    const { stats, hostPath } = await this.#disk.call('findOnHost', [file], signal);
    return { entry: unpackOne(file, stats), hostPath };
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#disk.close();
  }

  async #write(file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions, call: Call): Promise<Entry> {
    const { sizeBytes, beforePublish, overwrite, modifiedAt } = options;
    if (sizeBytes !== undefined && sizeBytes <= WHOLE_BYTES && !beforePublish) {
      const whole = await wholeContent(content, { ...options, sizeBytes });
      await call.commit();
      const small = { path: file, content: whole, overwrite, modifiedMs: modifiedAt?.getTime() };
      return unpackOne(file, await this.#disk.call('writeWhole', [small]));
    }
    // Not given up for an abort: what it makes is to be taken back.
    const { temp, fd } = await this.#disk.call('beginWrite', [file, overwrite]);
    try {
      await pumpContent(fd, verifiedContent(content, options), this.#disk.slots);
      if (modifiedAt !== undefined) await setTimes(fd, new Date(), modifiedAt);
      throwIfAborted(options.signal);
    } catch (error) {
      await this.#discard(temp, fd);
      throw isSystemError(error) ? toAppError(error) : error;
    }
    try {
      return await publishFile(this.#disk, { temp, fd, isDraft: false }, file, options, call.commit);
    } catch (error) {
      await this.#discard(temp, undefined);
      throw error;
    }
  }

  async #writeMany(files: readonly WholeWrite[], call: Call): Promise<readonly (Entry | AppError)[]> {
    const untils = await Promise.all(files.map(({ mayPublishUntil }) => mayPublishUntil().catch(AppError.from)));
    await call.commit();
    const { placed, bytes } = packed(files, untils);
    const written = placed.length === 0 ? [] : [...(await this.#disk.call('writeMany', [placed, bytes]))];
    const outcomes: (Entry | AppError)[] = [];
    for (const [index, each] of files.entries()) {
      const until = untils[index];
      const outcome = AppError.is(until) ? until : (written.shift() ?? 'too late');
      if (outcome === 'too late') outcomes.push(await this.#writeLate(each, call));
      else if (AppError.is(outcome)) outcomes.push(outcome);
      else outcomes.push('code' in outcome ? fromDisk(outcome) : unpackOne(each.file, outcome));
    }
    return outcomes;
  }

  /** Where it took longer to make a content durable than the answer held: asks when it is durable. */
  async #writeLate({ file, content, mayPublishUntil, ...how }: WholeWrite, call: Call): Promise<Entry | AppError> {
    const pieces = (async function* () {
      yield content;
    })();
    const beforePublish = async () => void (await mayPublishUntil());
    try {
      return await this.#write(file, pieces, { ...how, sizeBytes: content.byteLength, beforePublish }, call);
    } catch (error) {
      return AppError.from(error);
    }
  }

  async #finish(path: MountPath, packed: PackedEntry, signal: AbortSignal | undefined): Promise<Entry> {
    const entry = unpackOne(path, packed);
    return this.#addsUpFolders ? this.#withSize(entry, path, signal) : entry;
  }

  async #withSize(entry: Entry, path: MountPath, signal: AbortSignal | undefined): Promise<Entry> {
    if (!entry.isDirectory || entry.isLink) return entry;
    return { ...entry, sizeBytes: await this.#disk.call('addUp', [path], signal) };
  }

  /** Takes a write back. Its own failure changes nothing: what stays is removed when the storage is opened after this process ended. */
  async #discard(temp: TempRef, fd: number | undefined): Promise<void> {
    try {
      if (fd !== undefined) await closeHandle(fd);
      await this.#disk.call('discard', [temp]);
    } catch {
      // The error that led here is the one to tell.
    }
  }
}

/** Files that may get their names, with their contents in one piece of memory, which is handed over to the thread that stores them. */
function packed(files: readonly WholeWrite[], untils: readonly (number | AppError)[]): { placed: PlacedWrite[]; bytes: Uint8Array } {
  const allowed = files.flatMap((each, index) => {
    const until = untils[index];
    return typeof until === 'number' ? [{ ...each, leftMs: until - performance.now() }] : [];
  });
  const bytes = new Uint8Array(allowed.reduce((sum, { content }) => sum + content.byteLength, 0));
  let at = 0;
  const placed = allowed.map(({ file, content, overwrite, modifiedAt, leftMs }) => {
    const start = at;
    bytes.set(content, start);
    at += content.byteLength;
    return { path: file, start, end: at, overwrite, modifiedMs: modifiedAt?.getTime(), untilMs: monotonicMs() + leftMs };
  });
  return { placed, bytes };
}

function splitNames(names: string): EntryName[] {
  // The worker lists only what is an EntryName.
  return names === '' ? [] : (names.split('/') as EntryName[]);
}

/** @param letters of the names of a folder, about. @throws AppError OVERLOADED: too many others are read */
function withLongNames<Result>(letters: number, options: CallOptions, read: () => Promise<Result>): Promise<Result> {
  const bytes = namesRoom(letters);
  const readBeside = () => {
    if (bytes > MUCH_BYTES && ownBytes() > FULL_SHARE * memoryBytes()) collectGarbage('last-resort');
    return read();
  };
  return longNames.run(options, readBeside, bytes);
}

/** The same, some at a time: those who share the text of a long folder would hold all of its names once each. */
function* namesInTurns(names: string): Generator<EntryName[], void> {
  for (let from = 0; from < names.length; ) {
    let end = from - 1;
    for (let count = 0; count < ENTRIES_PER_TURN && end < names.length; count += 1) {
      const next = names.indexOf('/', end + 1);
      end = next < 0 ? names.length : next;
    }
    yield splitNames(ownText(names.slice(from, end)));
    from = end + 1;
  }
}

function unpackAll(names: readonly EntryName[], packed: Float64Array): Entry[] {
  const entries: Entry[] = [];
  for (const [index, name] of names.entries()) {
    const entry = unpackEntry(name, packed, index * NUMBERS_PER_ENTRY);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'errno' in error;
}
