import type { AppError } from '@wharf/errors';
import type { EntryName, MountPath } from '@wharf/paths';

export type HashName = 'md5' | 'sha1' | 'sha256';

/** Digests in lower-case hexadecimal; a kind that is not known is absent. */
export type Hashes = { readonly [name in HashName]?: string };

/** A file or a folder as its storage describes it at one moment. */
export interface Entry {
  /** `root` for the root of the storage. */
  readonly name: EntryName;
  readonly isDirectory: boolean;
  /** 0 for a folder, unless the storage counts what is in it. Undefined: of a file that the storage does not tell the size of, as it is opened if not before. */
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date;
  /** Absent when the storage does not tell. */
  readonly createdAt?: Date;
  readonly hashes?: Hashes;
  /** Of a file: opaque, and another one after each change of its content. Absent when the storage has none; then time and size tell. */
  readonly version?: string;
  /** True when the entry stands in for another place of the same storage. A walk does not descend into it: it could be a circle. */
  readonly isLink?: true;
  /** Of a file: the storage has a small picture of it, which `thumbnail` hands over. */
  readonly hasThumbnail?: true;
}

export interface CallOptions {
  /** Ends the call with CANCELLED (or with the AppError that is the reason of the abort) and releases what it holds. */
  readonly signal?: AbortSignal | undefined;
  /** For whom a transfer is: no one has more than a share of those that a storage bears at once. Absent: for Wharf itself. Drivers pass it over. */
  readonly caller?: string | undefined;
  /** Waits for its turn as long as it takes, as a task does whose answer nobody waits for, and leaves some to others. Absent: it is refused with OVERLOADED after a while. */
  readonly isPatient?: true | undefined;
  /**
   * Asked right before a change is made, after the wait for its turn and after all looks of the driver: rejecting has it not made. Whoever gives it answers at once
   * where the call is young, and asks no storage: the driver may hold the only session that there is. One that cannot ask between its looks and the change passes it
   * over.
   */
  readonly afterWaiting?: (() => Promise<void>) | undefined;
  /**
   * A listing has all that a path reaches, also what settings of the storage leave out of listings; a look passes over no place that is away and may have the
   * entry: for who has to know, not for showing.
   */
  readonly seesAll?: true | undefined;
  /** Of a listing: a folder, too, that stands behind a file or a link of its name, which alone is shown, once. Storages that have none such pass it over. */
  readonly seesBehind?: true | undefined;
  /** Of a folder of this machine: told what the names of a long listing take, about, in bytes, before they are taken into memory. What it throws ends the listing. */
  readonly beforeNames?: ((bytes: number) => void) | undefined;
}

export interface ListNamesOptions extends CallOptions {
  /** Of a long folder only that it is one (`longLetters`): who asks waits for its turn with such folders, and asks again. Storages that pass it over answer the names. */
  readonly onlyShort?: true | undefined;
}

/** Bytes [offsetBytes, offsetBytes + lengthBytes), 0-based; without a length to the end. What lies past the end is left out. */
export interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes?: number | undefined;
}

/**
 * Asked when a content is durable, right before the file gets its name, whether it still may; rejecting takes the write back. Where something
 * else has the name afterwards than before, it is asked again: time has passed, and somebody else may have gone on with the work.
 */
export type BeforePublish = () => Promise<void>;

export interface WriteOptions extends CallOptions {
  /** For a driver that holds content back: it tells whenever the storage has taken more of it, or the storage is taken to stand still. */
  readonly onProgress?: (() => void) | undefined;
  /** False: only a new file; ENTRY_EXISTS when something has the name, decided atomically where the trait `exclusiveCreate` says so. */
  readonly overwrite: boolean;
  /** What the sender promised; another number of bytes is refused with INVALID_ARGUMENT. */
  readonly sizeBytes?: number | undefined;
  /** Kept by storages whose trait `modTimeStepMs` is a number; now, when absent. */
  readonly modifiedAt?: Date | undefined;
  /** What the content must hash to; CONTENT_CORRUPT otherwise. Upper-case digits are fine. */
  readonly expectedHashes?: Hashes | undefined;
  readonly beforePublish?: BeforePublish | undefined;
  /**
   * Passes a content on once more, as long as whoever sent it may by now: asked for where all of it was taken in before the storage has any, which may take
   * hours for it. Drivers that hand a content to another storage give it on; others pass it over.
   */
  readonly whileAllowed?: ((content: AsyncIterable<Uint8Array>, sizeBytes: number) => AsyncIterable<Uint8Array>) | undefined;
}

export interface PlaceOptions extends CallOptions {
  /** False: ENTRY_EXISTS when something has the name `to`, decided atomically. True: a file is replaced, and an empty folder by a folder. */
  readonly overwrite: boolean;
  /** It is a folder, with all that is in it: that may take long, and needs a turn of those that may. Drivers pass it over. */
  readonly isTree?: true | undefined;
}

export interface CopyOptions extends PlaceOptions {
  /**
   * Of a folder of this machine: asked before anything is copied, with what the copy takes of the disk: bytes, and files and folders. Rejecting ends it there,
   * with that error. Other storages pass it over.
   */
  readonly beforeCopy?: ((bytes: number, entries: number) => Promise<void>) | undefined;
}

export interface RemoveOptions extends CallOptions {
  /** False: a folder with anything in it, listed or not, is refused with DIRECTORY_NOT_EMPTY. */
  readonly recursive: boolean;
  /** What is in the folder was counted, and is soon gone: it needs none of the turns of those that may take hours. Drivers pass it over. */
  readonly isSmall?: true | undefined;
  /**
   * Where the trait `removesStepwise` says that a folder goes in steps: asked before each that takes something out of it, with how many entries are
   * gone by then. Rejecting ends the removal there, with that error. Other storages pass it over.
   */
  readonly beforeStep?: ((removedEntries: number) => Promise<void>) | undefined;
  /**
   * What `beginRemoval` said of the path: only what was there then is removed, whatever has the name now. Where something that came since stays,
   * STALE_VERSION in the end. FAILED_PRECONDITION, and nothing goes, where it may have been said of another place (`begun-removal.ts`). Storages without
   * `beginRemoval` are not given it.
   */
  readonly begun?: string | undefined;
  /**
   * A file as it was. It goes only if it is still that, and else stays, with STALE_VERSION: decided by the storage in one step where it can, by a look right
   * before where it cannot. Or a folder, or a link to one, which goes only if there is such a thing, a folder if it is empty, and if nothing has got its name through
   * this process since it was looked at.
   */
  readonly onlyIf?: Entry | undefined;
}

export interface StatManyOptions extends CallOptions {
  /** What `listNames` said of the folder; STALE_VERSION when it holds no more. Saves asking for the names before each look at a page. */
  readonly ifVersion?: string | undefined;
}

/**
 * The bytes of one file in order, no chunk empty. A chunk is only lent: the receiver changes nothing of it and is done with it when it asks for
 * the next one, so that its memory may be used again. That saves most of what reading costs. To be iterated once.
 */
export interface FileContent extends AsyncIterable<Uint8Array> {
  /** The file the bytes come from, as it was when it was opened: compare it with an earlier `stat` to see a replacement in between. */
  readonly entry: Entry;
  /** All of it, where it is here already, for who would wait for each chunk. Others have it too: not to be changed. */
  readonly whole?: Uint8Array;
}

/** A file with all its bytes. Others may have them too: not to be changed. */
export interface WholeFile {
  readonly entry: Entry;
  readonly bytes: Uint8Array;
}

export interface ReadManyOptions extends CallOptions {
  /** A larger file is not read. */
  readonly maxBytes: number;
}

/** One of several files that are stored in one call. */
export interface WholeWrite extends Pick<WriteOptions, 'overwrite' | 'modifiedAt'> {
  readonly file: MountPath;
  readonly content: Uint8Array;
  /**
   * As `beforePublish`, but its answer holds for a while: until then, by `performance.now()`, the file may get its name without another question. It may
   * be asked before the content is durable. Rejecting takes this file back, and no other one.
   */
  readonly mayPublishUntil: () => Promise<number>;
}

export interface DraftOptions extends CallOptions {
  /** Makes the draft; false: opens the one that was made under this id, by whatever process. */
  readonly create: boolean;
  /** With `create`: of the file, where that is known. A storage may choose its parts by it, and refuse what goes beyond with INVALID_ARGUMENT. */
  readonly sizeBytes?: number | undefined;
}

/** How the drafts of a storage take their content. */
export interface DraftTraits {
  /** `ascending`: each range begins where the one before ended. */
  readonly order: 'any' | 'ascending';
  /** Whether `read` answers. */
  readonly readsBack: boolean;
}

/** Of a range of a draft. */
export type RangeOptions = CallOptions & Pick<WriteOptions, 'onProgress'>;

export interface PublishOptions extends PlaceOptions, Pick<WriteOptions, 'onProgress'> {
  readonly modifiedAt?: Date | undefined;
  readonly beforePublish?: BeforePublish | undefined;
}

/**
 * A file without a name, put together from ranges in any order. It outlives the process that made it, until it is published or discarded; one
 * that nobody wrote to for two days may go.
 */
export interface Draft {
  /**
   * A range that begins at a multiple of this, and ends at one or at the end of the file, goes to its place at once. Others are taken too, and wait in
   * the storage until their part is whole: that costs more calls. 1: all ranges are alike. It stays the same as long as the draft is there.
   */
  readonly partBytes: number;
  /**
   * Writes content from an offset on, also in parallel for other ranges. A piece of it is only lent until the next one is asked for.
   * @returns the bytes written; after a failure the range is undefined
   */
  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, options?: RangeOptions): Promise<number>;
  /** Makes durable what was written. */
  sync(): Promise<void>;
  /** Bytes up to the last that was written. */
  sizeBytes(): Promise<number>;
  /** All bytes from the start. A chunk is only lent until the next one is asked for. Where there are parts, nothing is written after that. */
  read(options?: CallOptions): AsyncIterable<Uint8Array>;
  /**
   * Gives the file the name it was opened for, durably. The draft is gone then.
   * @throws ENTRY_EXISTS (the draft stays) | IS_A_DIRECTORY
   */
  publish(options: PublishOptions): Promise<Entry>;
  /** Removes it. Nothing there is success. */
  discard(): Promise<void>;
  /** Lets go of it; it stays. Safe twice. */
  close(): Promise<void>;
}

/** Who will follow a link. */
export interface LinkClient {
  readonly address: string;
  /** What it calls itself (`User-Agent`); undefined where it does not. */
  readonly agent: string | undefined;
}

export interface LinkOptions extends CallOptions {
  /** Undefined: nobody knows. */
  readonly client?: LinkClient | undefined;
}

/** A URL that serves the file without us. */
export interface DirectLink {
  /** It serves that client alone; absent: anybody who has it. */
  readonly isForClient?: true;
  readonly url: string;
  /** What a client must send along. A link with headers cannot be a redirect. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly expiresAt?: Date;
}

export interface ThumbnailOptions extends CallOptions {
  /** How wide it is wanted, in pixels. The storage answers with what it has or makes: it may be of another size. */
  readonly widthPixels: number;
  /** A larger one is refused with CONTENT_CORRUPT before all of it has come. */
  readonly maxBytes: number;
}

/** A small picture that the storage made. Nobody has looked into it: it may be no picture at all. */
export interface StorageThumbnail {
  /** The file it is of, as the storage has it at this moment. */
  readonly entry: Entry;
  readonly image: Uint8Array;
}

export interface Space {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** The names of one folder, without anything that takes a look at each entry. */
export interface NameListing {
  /**
   * Stays equal as long as the names do. Undefined when that cannot be promised yet (the folder changed a moment ago): use the names once
   * and do not keep them.
   */
  readonly version: string | undefined;
  /** Each once, in byte order. Owned by the receiver. */
  readonly names: EntryName[];
  /** Which of the names are folders. A link is judged by its target at the time of the listing. */
  readonly directories: ReadonlySet<EntryName>;
  /** With `onlyShort`: it has many names, of so many letters together, about, and none of them is here. */
  readonly longLetters?: number;
}

/** What a name must not have. */
export interface RefusedNames {
  /** Each of them, anywhere. */
  readonly characters: string;
  /** Each of them, at the end. */
  readonly endings: string;
  /** What stands before the first dot, in lower case: names are compared without regard to it. */
  readonly stems: readonly string[];
}

/** Facts that callers need and cannot see from which methods exist. The conformance suite measures them. */
export interface DriverTraits {
  /**
   * `A` and `a` can be two entries. Where not, as where a storage folds names in any other way, an entry is reached by its own spelling only: others
   * are ENTRY_NOT_FOUND, and cannot be made (ENTRY_EXISTS), so that rules on paths hold. A rename may change the spelling.
   */
  readonly caseSensitive: boolean;
  /** A folder exists without anything in it. */
  readonly keepsEmptyDirectories: boolean;
  /** The grid in milliseconds to which a given modification time is rounded; undefined when the storage sets its own. */
  readonly modTimeStepMs: number | undefined;
  /** Longest name in bytes of UTF-8. */
  readonly maxNameBytes: number;
  /** Digests that entries of files carry always. */
  readonly hashes: readonly HashName[];
  /**
   * Of many that make one name without `overwrite`, in whatever processes, one wins. Where not, who looks first and writes then may come at
   * the same moment as another, and the later one stays.
   */
  readonly exclusiveCreate: boolean;
  /** `copy` takes folders too; where not, it refuses them with UNSUPPORTED_OPERATION, and their files are copied one by one. */
  readonly copiesFolders: boolean;
  /**
   * `remove` takes a folder apart entry by entry: a large one takes time, and what fails or is ended midway leaves the rest. Absent: it is one
   * step, or as good as one.
   */
  readonly removesStepwise?: true;
  /** A name finds what has just this name, as in a list that somebody wrote down. Absent: a store may keep objects in files, and a disk behind it may find an entry by other names. */
  readonly findsExactNames?: true;
  /** Names that the storage keeps no entry of. Absent: it keeps all up to `maxNameBytes`. */
  readonly refusedNames?: RefusedNames;
  /** Longest path in bytes of UTF-8, with its slashes. Absent: as long as paths are. */
  readonly maxPathBytes?: number;
  /** A write must say its size beforehand. Where the sender does not know it, the content is taken in first. */
  readonly needsSize?: true;
  /** A file that is being read cannot be replaced: the write is refused with FAILED_PRECONDITION. Absent: the reader keeps the old one. */
  readonly locksOpenFiles?: true;
  /** A file may be in several places, of which a look is at one: a write that failed has reached some of them, and is done again though its bytes are there. */
  readonly hasMirrors?: true;
  /** Where there are drafts. */
  readonly drafts?: DraftTraits;
}

/**
 * One opened storage. Every method may be called at any time, also in parallel; paths come from the parser of `paths.ts`.
 *
 * Every method may also throw AppError STORAGE_UNAVAILABLE | STORAGE_LOGIN_FAILED | PERMISSION_DENIED | DEADLINE_EXCEEDED | CANCELLED, a
 * changing one STORAGE_READ_ONLY | QUOTA_EXCEEDED | INVALID_ARGUMENT (a name the storage cannot keep) too. What an acknowledged call
 * changed survives a crash, as far as the storage can promise it.
 */
export interface StorageDriver {
  readonly traits: DriverTraits;
  /** @throws ENTRY_NOT_FOUND */
  stat(path: MountPath, options?: CallOptions): Promise<Entry>;
  /** Direct children, each once; the order is the driver's own. @throws ENTRY_NOT_FOUND | NOT_A_DIRECTORY, at the first step */
  list(directory: MountPath, options?: CallOptions): AsyncIterable<Entry>;
  /**
   * Opens a file. Leaving the loop early, or aborting, releases what the content holds; whoever does not iterate must abort.
   * @throws ENTRY_NOT_FOUND | IS_A_DIRECTORY | RANGE_NOT_SATISFIABLE (a start at or behind the end, unless both are 0)
   */
  read(file: MountPath, range?: ByteRange, options?: CallOptions): Promise<FileContent>;
  /** Safe to call twice. Calls that still run end with an error. */
  close(): Promise<void>;

  // Optional: present if and only if the storage itself can do it.

  /**
   * Stores a file whole or not at all: whatever fails or is cancelled, the old file stays and nothing else is left. Missing parent folders
   * are made. Pulls from `content` only as fast as the storage takes it; a piece of it is only lent until the next one is asked for. After a
   * failure `content` is ended, or was never begun.
   * @throws ENTRY_EXISTS | IS_A_DIRECTORY | NOT_A_DIRECTORY (a parent is a file) | INVALID_ARGUMENT | CONTENT_CORRUPT; what `content` throws
   */
  write?(file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry>;
  /** With missing parents. An existing folder is success. @throws ENTRY_EXISTS (a file has the name) | NOT_A_DIRECTORY (a parent is one) */
  makeDirectory?(directory: MountPath, options?: CallOptions): Promise<Entry>;
  /** The entry itself, never what a link points to. @throws ENTRY_NOT_FOUND | DIRECTORY_NOT_EMPTY | INVALID_ARGUMENT (the root) | STALE_VERSION (`onlyIf`) */
  remove?(path: MountPath, options: RemoveOptions): Promise<void>;
  /**
   * Begins to remove entries with all they hold, where that takes long: what comes under their names afterwards is not theirs. `remove` goes on
   * with it, in whatever process, when it is given what is answered here. Never rejects for one of them.
   * @returns in the order of the paths: what `remove` is to be given as `begun`; undefined: it is removed already; or why it is not begun, and as it was,
   * UNSUPPORTED_OPERATION: it can only be removed at once
   */
  beginRemoval?(paths: readonly MountPath[], options?: CallOptions): Promise<readonly (string | undefined | AppError)[]>;
  /**
   * Gives an entry another place in one step. Onto itself it changes nothing. The parent of `to` must exist.
   * @throws ENTRY_NOT_FOUND | ENTRY_EXISTS | INVALID_ARGUMENT (into itself, the root) | IS_A_DIRECTORY (a file over a folder) |
   * NOT_A_DIRECTORY (a folder over a file) | DIRECTORY_NOT_EMPTY | UNSUPPORTED_OPERATION (this pair: copy and remove instead)
   */
  rename?(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry>;
  /**
   * Copies a file, or a folder with all it holds, whole or not at all, with modification times. A folder is never merged into another. The
   * parent of `to` must exist.
   * @throws as `rename`, and ENTRY_EXISTS for a copy onto itself or of a folder onto anything; UNSUPPORTED_OPERATION for a folder without the
   * trait `copiesFolders`
   */
  copy?(from: MountPath, to: MountPath, options: CopyOptions): Promise<Entry>;
  link?(file: MountPath, options?: LinkOptions): Promise<DirectLink>;
  space?(options?: CallOptions): Promise<Space>;
  /**
   * The picture of a file whose entry says `hasThumbnail`.
   * @throws ENTRY_NOT_FOUND | IS_A_DIRECTORY | UNSUPPORTED_OPERATION (the storage has none of it) | CONTENT_CORRUPT (it is too large)
   */
  thumbnail?(file: MountPath, options: ThumbnailOptions): Promise<StorageThumbnail>;
  /**
   * Where a file is on this machine, for a program that reads it by itself. Checked as a read is, at this moment; nothing is held.
   * @throws ENTRY_NOT_FOUND | IS_A_DIRECTORY
   */
  findOnHost?(file: MountPath, options?: CallOptions): Promise<HostFile>;
  /**
   * Makes or opens what will be the file once it is published, for content that comes in ranges. Missing parent folders are made.
   * @throws ENTRY_NOT_FOUND (there is no such draft) | ENTRY_EXISTS (there is one, with `create`) | NOT_A_DIRECTORY (a parent is a file)
   */
  openDraft?(file: MountPath, id: string, options: DraftOptions): Promise<Draft>;
  /**
   * The names of a folder, or undefined when `knownVersion` still holds. For big folders: keep the names under their version, sort and
   * page them, and look only at the entries of the page.
   * @throws as `list`
   */
  listNames?(directory: MountPath, knownVersion: string | undefined, options?: ListNamesOptions): Promise<NameListing | undefined>;
  /**
   * The entries of these names in their order; those that are gone are left out. Another call may answer the same array.
   * @throws STALE_VERSION; ENTRY_NOT_FOUND | NOT_A_DIRECTORY (the folder)
   */
  statMany?(directory: MountPath, names: readonly EntryName[], options?: StatManyOptions): Promise<readonly Entry[]>;
  /**
   * All that is below a folder, at whatever depth, as walking with `list` would find it: each once, a folder before what is in it. For storages
   * that need fewer calls for it than one for each folder.
   * @throws as `list`
   */
  listAll?(directory: MountPath, options?: CallOptions): AsyncIterable<PlacedEntry>;
  /**
   * Reads small files in one call, for storages where that costs less than one call for each. The answers are in the order of the files; undefined: this
   * one is to be read by itself, as it is larger, or as `read` fails and says why.
   */
  readMany?(files: readonly MountPath[], options: ReadManyOptions): Promise<readonly (WholeFile | undefined)[]>;
  /**
   * Stores small files in one call, each as `write` does: whole or not at all, durable when it is answered. One that fails fails no other one.
   * @returns in the order of the files what was stored, or why it was not, as `write` throws it
   */
  writeMany?(files: readonly WholeWrite[], options?: CallOptions): Promise<readonly (Entry | AppError)[]>;
}

export interface HostFile {
  readonly entry: Entry;
  /** Absolute and free of links. */
  readonly hostPath: string;
}

/** An entry of a tree, and its place. */
export interface PlacedEntry {
  readonly path: MountPath;
  readonly entry: Entry;
}

export type OptionalOperation = {
  [Key in keyof StorageDriver]-?: undefined extends StorageDriver[Key] ? Key : never;
}[keyof StorageDriver];

/** `if (supports(driver, 'copy')) await driver.copy(...)`: the only way code asks about ability. */
export function supports<Op extends OptionalOperation>(
  driver: StorageDriver,
  operation: Op,
): driver is StorageDriver & Required<Pick<StorageDriver, Op>> {
  return typeof driver[operation] === 'function';
}
