import { createCipheriv, createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { baseName, type EntryName, MOUNT_ROOT, type MountPath, parentPath, pathSegments, ROOT_NAME } from '@wharf/paths';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import type { ByteRange, CallOptions, DriverTraits, Entry, FileContent, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { VirtualSettings } from './config.ts';

/** Deeper folders have no folders: a walk comes to an end, if a far one. */
const MAX_DEPTH = 8;
const ENDINGS = ['mp4', 'mkv', 'mp3', 'flac', 'jpg', 'png', 'txt', 'pdf', 'zip', 'bin'];
const CHUNK = Buffer.alloc(64 * 1024);
const BLOCK_BYTES = 16;
const FIRST_DATE_MS = Date.UTC(2015, 0, 1);
const DATES_MS = 10 * 365 * 24 * 3_600_000;
/** Entries that are made up in one go: a few milliseconds. */
const BATCH = 500;

/** Files and folders that are nowhere: names, sizes, dates and bytes follow from the place alone, and are the same each time. */
export class VirtualDriver implements StorageDriver {
  readonly traits: DriverTraits = {
    caseSensitive: true,
    keepsEmptyDirectories: true,
    findsExactNames: true,
    modTimeStepMs: undefined,
    maxNameBytes: 255,
    hashes: [],
    exclusiveCreate: false,
    copiesFolders: false,
  };
  readonly #settings: VirtualSettings;
  readonly #seed: string;
  #isClosed = false;

  constructor(settings: VirtualSettings, storageId: number) {
    this.#settings = settings;
    this.#seed = `${storageId}`;
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    return this.#get(path);
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    if (!this.#get(directory).isDirectory) throw storageError('NOT_A_DIRECTORY');
    const folders = pathSegments(directory).length < MAX_DEPTH ? this.#settings.folders : 0;
    for (let index = 0; index < folders + this.#settings.files; index++) {
      if (index % BATCH === BATCH - 1) await setImmediate();
      throwIfAborted(options.signal);
      yield index < folders ? this.#folder(directory, index) : this.#file(directory, index - folders);
    }
  }

  async read(file: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const entry = this.#get(file);
    if (entry.isDirectory) throw storageError('IS_A_DIRECTORY');
    const { start, end } = resolveRange(range, entry.sizeBytes ?? 0);
    return { entry, [Symbol.asyncIterator]: () => bytesOf(this.#digest(file), start, end, options) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  #get(path: MountPath): Entry {
    const name = baseName(path);
    if (name === undefined) return { name: ROOT_NAME, isDirectory: true, sizeBytes: 0, modifiedAt: new Date(FIRST_DATE_MS) };
    const parent = parentPath(path);
    if (parent !== MOUNT_ROOT && !this.#get(parent).isDirectory) throw storageError('ENTRY_NOT_FOUND');
    const [, kind, number] = /^(folder|file) (\d{1,6}) /.exec(name) ?? [];
    const index = Number(number) - 1;
    const isFolder = kind === 'folder';
    const isThere = isFolder ? index < this.#settings.folders && pathSegments(parent).length < MAX_DEPTH : index < this.#settings.files;
    const entry =
      kind !== undefined && index >= 0 && isThere ? (isFolder ? this.#folder(parent, index) : this.#file(parent, index)) : undefined;
    if (entry?.name !== name) throw storageError('ENTRY_NOT_FOUND');
    return entry;
  }

  #folder(parent: MountPath, index: number): Entry {
    const digest = this.#digest(`${parent} folder ${index}`);
    const name = `folder ${index + 1} ${digest.toString('hex', 0, 4)}` as EntryName;
    return { name, isDirectory: true, sizeBytes: 0, modifiedAt: dateOf(digest) };
  }

  #file(parent: MountPath, index: number): Entry {
    const digest = this.#digest(`${parent} file ${index}`);
    const { minBytes, maxBytes } = this.#settings;
    const ending = ENDINGS[digest.readUInt8(12) % ENDINGS.length];
    const name = `file ${index + 1} ${digest.toString('hex', 0, 4)}.${ending}` as EntryName;
    const sizeBytes = minBytes + Math.floor((digest.readUInt32BE(16) / 2 ** 32) * (maxBytes - minBytes + 1));
    return { name, isDirectory: false, sizeBytes, modifiedAt: dateOf(digest) };
  }

  #digest(text: string): Buffer {
    return createHash('sha256').update(`${this.#seed} ${text}`).digest();
  }
}

function dateOf(digest: Buffer): Date {
  return new Date(FIRST_DATE_MS + Math.floor((digest.readUInt32BE(8) / 2 ** 32) * DATES_MS));
}

/** The key stream of a cipher from any byte on. @param key 32 bytes */
async function* bytesOf(key: Buffer, start: number, end: number, { signal }: CallOptions): AsyncGenerator<Uint8Array, void> {
  const counter = Buffer.alloc(BLOCK_BYTES);
  counter.writeBigUInt64BE(BigInt(Math.floor(start / BLOCK_BYTES)), 8);
  const cipher = createCipheriv('aes-256-ctr', key, counter);
  cipher.update(CHUNK.subarray(0, start % BLOCK_BYTES));
  for (let at = start; at < end; ) {
    throwIfAborted(signal);
    const piece = cipher.update(CHUNK.subarray(0, Math.min(CHUNK.byteLength, end - at)));
    at += piece.byteLength;
    yield piece;
    await setImmediate();
  }
}
