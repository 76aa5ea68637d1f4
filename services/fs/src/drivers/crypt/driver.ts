import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import {
  childPath,
  type EntryName,
  isEntryName,
  isWithin,
  MOUNT_ROOT,
  type MountPath,
  nameAt,
  parentPath,
  pathSegments,
  ROOT_NAME,
} from '@wharf/paths';
import { beganElsewhere } from '../../driver-contract/begun-removal.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import type {
  ByteRange,
  CallOptions,
  DriverTraits,
  Entry,
  FileContent,
  PlaceOptions,
  RemoveOptions,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { isNotThere, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';
import { openOrLeave } from '../../driver-contract/while-open.ts';
import type { CryptSettings } from './config.ts';
import { opened, sealed, splitHeader } from './content.ts';
import { BLOCK_BYTES, HEADER_BYTES, openedSize, SEALED_BLOCK_BYTES, sealedSize } from './format.ts';
import { type CryptKeys, deriveKeys } from './keys.ts';
import { type CryptNames, createNames } from './names.ts';

/** An entry of the folder below, and what is shown of it. */
interface Known {
  readonly path: MountPath;
  readonly entry: Entry;
  /** As the folder below has it. */
  readonly stored: Entry;
}

/** Names that are decrypted in one go: a few milliseconds. */
const NAMES_BATCH = 200;
const PARALLEL_LOOKS = 8;
/** Stands before what the folder below says of a removal that has begun: files and folders have their names there by other ways. */
const BEGUN_FILE = 'f';
const BEGUN_FOLDER = 'd';

/** @throws what opening the folder below says */
export async function openCrypt(settings: CryptSettings, context: OpenContext): Promise<StorageDriver> {
  const [inner, keys] = await Promise.all([
    context.openMount(settings.remotePath, { keepsNames: false }),
    deriveKeys(settings.password, settings.salt),
  ]);
  const driver = new CryptDriver(inner, keys, settings);
  const { write, makeDirectory, remove, beginRemoval, rename, copy, space, ...own } = operationsOf(driver);
  return decorated({
    ...own,
    write: inner.write && write,
    makeDirectory: inner.makeDirectory && makeDirectory,
    remove: inner.remove && remove,
    beginRemoval: inner.beginRemoval && beginRemoval,
    rename: inner.rename && rename,
    copy: inner.copy && copy,
    space: inner.space?.bind(inner) && space,
  });
}

/** A folder of encrypted files as rclone writes them, in clear. */
class CryptDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #inner: StorageDriver & Partial<StorageDriver>;
  readonly #keys: CryptKeys;
  readonly #names: CryptNames;
  readonly #settings: CryptSettings;
  /** Looks at the folder below: it knows what it has stored since. */
  readonly #looks = new WeakMap<Entry, Entry>();
  #isClosed = false;

  constructor(inner: StorageDriver, keys: CryptKeys, settings: CryptSettings) {
    this.#inner = inner;
    this.#keys = keys;
    this.#settings = settings;
    this.#names = createNames(keys, settings);
    this.traits = traitsOf(inner.traits, this.#names, settings);
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    const { entry, stored } = await this.#get(path, options);
    this.#looks.set(entry, stored);
    return entry;
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    using seen = new NameSet();
    const showsHidden = this.#settings.showsHidden || options.seesAll === true;
    let count = 0;
    try {
      for await (const entry of this.#inner.list(this.#folderPath(directory), options)) {
        if (++count % NAMES_BATCH === 0) await setImmediate();
        throwIfAborted(options.signal);
        const shown = this.#shown(entry);
        if (shown === undefined || (!showsHidden && shown.name.startsWith('.'))) continue;
        if (seen.shows(shown, options)) yield shown;
      }
    } catch (error) {
      throw await this.#asNotFolder(directory, error, options);
    }
  }

  async read(file: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    if (file === MOUNT_ROOT) throw storageError('IS_A_DIRECTORY');
    return openOrLeave(options.signal, (signal) => this.#openRange(file, range, { ...options, signal }));
  }

  async #openRange(file: MountPath, range: ByteRange | undefined, options: CallOptions): Promise<FileContent> {
    const path = this.#filePath(file);
    // The header is before each block: what begins in the first one is read with it.
    const isFromStart = range === undefined || !(range.offsetBytes >= BLOCK_BYTES);
    const first = await this.#openFile(file, path, isFromStart ? undefined : { offsetBytes: 0, lengthBytes: HEADER_BYTES }, options);
    const entry = this.#shownFile(first.entry, nameAt(file));
    const { start, end } = this.#resolve(first.entry, entry, range);
    const lengthBytes = end === Number.POSITIVE_INFINITY ? undefined : end - start;
    const { nonce, rest, leave } = await splitHeader(first);
    const firstBlock = isFromStart ? 0 : Math.floor(start / BLOCK_BYTES);
    const own = { ...options, key: this.#keys.data, nonce, firstBlock, skipBytes: start - firstBlock * BLOCK_BYTES, lengthBytes };
    if (isFromStart && lengthBytes !== 0) return contentOf(entry, opened(rest, own));
    await leave();
    if (lengthBytes === 0) return contentOf(entry, noBytes());
    const blocks = await this.#inner.read(path, sealedRange(firstBlock, end), options);
    if (!isSameFile(blocks.entry, first.entry)) throw new AppError('STORAGE_UNAVAILABLE', 'the file was replaced while it was opened');
    return contentOf(entry, opened(blocks, own));
  }

  async write(file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    this.#begin(options);
    if (file === MOUNT_ROOT) throw storageError('IS_A_DIRECTORY');
    const requireFree = async () => {
      const [other] = await Promise.all([this.#findOther(file, 'file', options), this.#requireFolder(parentPath(file), options)]);
      if (other) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    };
    await requireFree();
    const { overwrite, sizeBytes, modifiedAt, whileAllowed, onProgress, signal, caller, isPatient, afterWaiting } = options;
    // A folder may have got the name while the content came, and below they do not meet.
    const beforePublish = async () => {
      await requireFree();
      await options.beforePublish?.();
    };
    const stored = sealed(verifiedContent(content, options), this.#keys.data);
    const entry = await this.#operation('write')(this.#filePath(file), stored, {
      ...{ overwrite, modifiedAt, beforePublish, whileAllowed, onProgress, signal, caller, isPatient, afterWaiting },
      sizeBytes: sizeBytes === undefined ? undefined : sealedSize(sizeBytes),
    });
    return this.#shownFile(entry, nameAt(file));
  }

  async makeDirectory(directory: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    if (directory === MOUNT_ROOT) return this.stat(directory, options);
    await this.#requireFolder(parentPath(directory), options);
    if (await this.#findOther(directory, 'folder', options)) throw storageError('ENTRY_EXISTS');
    const entry = await this.#operation('makeDirectory')(this.#folderPath(directory), options);
    return { ...entry, name: nameAt(directory) };
  }

  async remove(path: MountPath, options: RemoveOptions): Promise<void> {
    this.#begin(options);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    const remove = this.#operation('remove');
    if (options.begun === undefined) {
      const known = (options.onlyIf?.isDirectory && (await this.#find(path, 'folder', options))) || (await this.#get(path, options));
      requireUnchanged(options.onlyIf, known.entry);
      return remove(known.path, { ...options, onlyIf: options.onlyIf && (this.#looks.get(options.onlyIf) ?? known.stored) });
    }
    const [kind, begun] = [options.begun.slice(0, 1), options.begun.slice(1)];
    if (kind !== BEGUN_FILE && kind !== BEGUN_FOLDER) throw beganElsewhere();
    await remove(kind === BEGUN_FOLDER ? this.#folderPath(path) : this.#filePath(path), { ...options, begun });
  }

  async beginRemoval(paths: readonly MountPath[], options: CallOptions = {}): Promise<readonly (string | undefined | AppError)[]> {
    this.#begin(options);
    const gate = createGate(PARALLEL_LOOKS);
    const looks = paths.map((path) => gate.run(() => this.#get(path, options)).catch((error: unknown) => AppError.from(error)));
    const found = await Promise.all(looks);
    const known = found.flatMap((one) => (AppError.is(one) ? [] : [one.path]));
    const begun = known.length === 0 ? [] : [...(await this.#operation('beginRemoval')(known, options))];
    return found.map((one) => {
      if (AppError.is(one)) return one;
      const answer = begun.shift();
      return typeof answer === 'string' ? (one.entry.isDirectory ? BEGUN_FOLDER : BEGUN_FILE) + answer : answer;
    });
  }

  async rename(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    const { source, target } = await this.#placement(from, to, options);
    return this.#named(to, await this.#operation('rename')(source.path, target, options));
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    const { source, target } = await this.#placement(from, to, options, 'ENTRY_EXISTS');
    return this.#named(to, await this.#operation('copy')(source.path, target, options));
  }

  async space(options: CallOptions = {}) {
    this.#begin(options);
    return this.#operation('space')(options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#inner.close();
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }

  #operation<Operation extends 'write' | 'makeDirectory' | 'remove' | 'beginRemoval' | 'rename' | 'copy' | 'space'>(operation: Operation) {
    const method = this.#inner[operation];
    if (method === undefined) throw storageError('UNSUPPORTED_OPERATION');
    return method.bind(this.#inner) as NonNullable<StorageDriver[Operation]>;
  }

  /** @throws AppError INVALID_ARGUMENT: it is too long below, or another one's */
  #folderPath(path: MountPath): MountPath {
    return pathSegments(path).reduce((folder, name) => childPath(folder, this.#keepable(this.#names.ofFolder(name))), MOUNT_ROOT);
  }

  #filePath(path: MountPath): MountPath {
    return childPath(this.#folderPath(parentPath(path)), this.#keepable(this.#names.ofFile(nameAt(path))));
  }

  #keepable(name: string | undefined): EntryName {
    if (name === undefined || !isEntryName(name)) throw storageError('INVALID_ARGUMENT');
    return name;
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async #get(path: MountPath, options: CallOptions): Promise<Known> {
    if (path === MOUNT_ROOT) {
      const stored = await this.#inner.stat(path, options);
      return { path, entry: { ...stored, name: ROOT_NAME }, stored };
    }
    let missing: unknown;
    const note = (error: AppError) => {
      missing ??= error;
    };
    const known = (await this.#find(path, 'file', options, note)) ?? (await this.#find(path, 'folder', options, note));
    if (known === undefined) throw storageError('ENTRY_NOT_FOUND', missing);
    return known;
  }

  /** @param onMissing told what the folder below says of what it does not have */
  async #find(
    path: MountPath,
    kind: 'file' | 'folder',
    options: CallOptions,
    onMissing?: (error: AppError) => void,
  ): Promise<Known | undefined> {
    let below: MountPath;
    try {
      below = kind === 'file' ? this.#filePath(path) : this.#folderPath(path);
    } catch (error) {
      // What cannot be kept is not there.
      if (AppError.is(error, 'INVALID_ARGUMENT')) return undefined;
      throw error;
    }
    try {
      const entry = await this.#inner.stat(below, options);
      if (entry.isDirectory !== (kind === 'folder')) return undefined;
      return { path: below, entry: this.#named(path, entry), stored: entry };
    } catch (error) {
      if (!isNotThere(error)) throw error;
      onMissing?.(error);
      return undefined;
    }
  }

  /** What has the name that is to be of a file, or of a folder, and is the other: below they do not meet. */
  async #findOther(path: MountPath, kind: 'file' | 'folder', options: CallOptions): Promise<Known | undefined> {
    return this.#names.isOne(nameAt(path)) ? undefined : this.#find(path, kind === 'file' ? 'folder' : 'file', options);
  }

  /** That no file is where folders are to be made. @throws AppError NOT_A_DIRECTORY */
  async #requireFolder(folder: MountPath, options: CallOptions): Promise<void> {
    for (let at = folder; at !== MOUNT_ROOT; at = parentPath(at)) {
      if (this.#names.isOne(nameAt(at))) continue;
      if (await this.#find(at, 'folder', options)) return;
      if (await this.#find(at, 'file', options)) throw storageError('NOT_A_DIRECTORY');
    }
  }

  async #asNotFolder(directory: MountPath, error: unknown, options: CallOptions): Promise<unknown> {
    const isFile =
      AppError.is(error, 'ENTRY_NOT_FOUND') && directory !== MOUNT_ROOT && (await this.#findOther(directory, 'folder', options));
    return isFile ? storageError('NOT_A_DIRECTORY') : error;
  }

  async #openFile(file: MountPath, path: MountPath, range: ByteRange | undefined, options: CallOptions): Promise<FileContent> {
    try {
      return await this.#inner.read(path, range, options);
    } catch (error) {
      const isFolder = AppError.is(error, 'ENTRY_NOT_FOUND') && (await this.#findOther(file, 'file', options));
      throw isFolder ? storageError('IS_A_DIRECTORY') : error;
    }
  }

  /** Where a range begins and ends. @throws AppError CONTENT_CORRUPT: no file of ours has this size */
  #resolve(stored: Entry, { sizeBytes }: Entry, range: ByteRange | undefined): { start: number; end: number } {
    if (stored.sizeBytes !== undefined && openedSize(stored.sizeBytes) === undefined) throw storageError('CONTENT_CORRUPT');
    return resolveRange(range, sizeBytes ?? Number.POSITIVE_INFINITY);
  }

  /** @param overFile what is said of a folder that is to replace a file */
  async #placement(
    from: MountPath,
    to: MountPath,
    options: PlaceOptions,
    overFile: 'NOT_A_DIRECTORY' | 'ENTRY_EXISTS' = 'NOT_A_DIRECTORY',
  ): Promise<{ source: Known; target: MountPath }> {
    this.#begin(options);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    const source = await this.#get(from, options);
    const kind = source.entry.isDirectory ? 'folder' : 'file';
    if (to === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    await this.#requireFolder(parentPath(to), options);
    if (from !== to && (await this.#findOther(to, kind, options))) {
      throw storageError(!options.overwrite ? 'ENTRY_EXISTS' : kind === 'file' ? 'IS_A_DIRECTORY' : overFile);
    }
    return { source, target: kind === 'file' ? this.#filePath(to) : this.#folderPath(to) };
  }

  #named(path: MountPath, entry: Entry): Entry {
    const name = nameAt(path);
    return entry.isDirectory ? { ...entry, name } : this.#shownFile(entry, name);
  }

  /** Undefined: not one of ours. */
  #shown(entry: Entry): Entry | undefined {
    const name = entry.isDirectory ? this.#names.shownFolder(entry.name) : this.#names.shownFile(entry.name);
    if (name === undefined || !isEntryName(name)) return undefined;
    return entry.isDirectory ? { ...entry, name } : this.#shownFile(entry, name);
  }

  /** Hashes are of what is stored, and so would be a picture. */
  #shownFile({ hashes: _, hasThumbnail: __, sizeBytes, ...entry }: Entry, name: EntryName): Entry {
    return { ...entry, name, sizeBytes: sizeBytes === undefined ? undefined : (openedSize(sizeBytes) ?? 0) };
  }
}

function traitsOf(inner: DriverTraits, names: CryptNames, { mode }: CryptSettings): DriverTraits {
  const { refusedNames, maxPathBytes: _, needsSize: __, drafts: ___, ...rest } = inner;
  return {
    ...rest,
    // Two spellings of one name are encrypted to names that have nothing in common.
    caseSensitive: inner.caseSensitive || (mode === 'standard' && names.isAlike),
    maxNameBytes: names.maxNameBytes(inner.maxNameBytes),
    hashes: [],
    // What is encrypted has none of them.
    ...(refusedNames && !names.isAlike && { refusedNames }),
  };
}

function sealedRange(firstBlock: number, end: number): ByteRange {
  const offsetBytes = HEADER_BYTES + firstBlock * SEALED_BLOCK_BYTES;
  if (end === Number.POSITIVE_INFINITY) return { offsetBytes };
  return { offsetBytes, lengthBytes: (Math.ceil(end / BLOCK_BYTES) - firstBlock) * SEALED_BLOCK_BYTES };
}

function isSameFile(one: Entry, other: Entry): boolean {
  return one.version === other.version && one.sizeBytes === other.sizeBytes && one.modifiedAt.getTime() === other.modifiedAt.getTime();
}

function contentOf(entry: Entry, bytes: AsyncGenerator<Uint8Array, void>): FileContent {
  return { entry, [Symbol.asyncIterator]: () => bytes };
}

async function* noBytes(): AsyncGenerator<Uint8Array, void> {}
