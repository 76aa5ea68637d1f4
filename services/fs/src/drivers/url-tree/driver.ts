import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { type EntryName, type MountPath, nameAt, pathSegments } from '@wharf/paths';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import type {
  ByteRange,
  CallOptions,
  DirectLink,
  DriverTraits,
  Entry,
  FileContent,
  StorageDriver,
} from '../../driver-contract/storage-driver.ts';
import { abortError, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { type FetchedBody, UrlClient } from './client.ts';
import type { UrlFile, UrlFolder, UrlNode } from './parse-url-tree.ts';

/** Sizes that are asked for at once. */
const ASKED_AT_ONCE = 8;

/** A tree of names, written down by the admin, whose files are at addresses of the web. */
export class UrlTreeDriver implements StorageDriver {
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
  readonly #root: UrlFolder;
  readonly #asksSizes: boolean;
  readonly #client: UrlClient;
  /** What servers said of files whose size is not written down; undefined: they do not tell. */
  readonly #sizes = new Map<UrlFile, number | undefined>();
  #isClosed = false;

  constructor(root: UrlFolder, asksSizes: boolean, egress: Egress) {
    this.#root = root;
    this.#asksSizes = asksSizes;
    this.#client = new UrlClient(egress);
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    return this.#describe(nameAt(path), this.#get(path), options);
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    const folder = this.#get(directory);
    if (!(folder instanceof Map)) throw storageError('NOT_A_DIRECTORY');
    const nodes = [...folder];
    for (let from = 0; from < nodes.length; from += ASKED_AT_ONCE) {
      throwIfAborted(options.signal);
      const batch = nodes.slice(from, from + ASKED_AT_ONCE);
      yield* await Promise.all(batch.map(([name, node]) => this.#describe(name, node, options)));
    }
  }

  async read(path: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const file = this.#getFile(path);
    try {
      return await this.#open(nameAt(path), file, range, options);
    } catch (error) {
      // What the server said of the size may be of an earlier file, or no more than a guess.
      if (!this.#forgetSize(file, error)) throw error;
      return await this.#open(nameAt(path), file, range, options);
    }
  }

  async #open(name: EntryName, file: UrlFile, range: ByteRange | undefined, options: CallOptions): Promise<FileContent> {
    const entry = await this.#describe(name, file, options);
    const size = entry.sizeBytes;
    const { start, end } = resolveRange(range, size ?? Number.POSITIVE_INFINITY);
    if (start === end) return { entry, [Symbol.asyncIterator]: () => nothing(options) };
    const body = await this.#client.get(file.address, start, end === size || end === Number.POSITIVE_INFINITY ? undefined : end, options);
    if (size !== undefined && body.sizeBytes !== undefined && body.sizeBytes !== size) {
      body.answer.destroy();
      if (file.sizeBytes === undefined) this.#sizes.set(file, body.sizeBytes);
      throw new AppError('CONTENT_CORRUPT', `the file has ${body.sizeBytes} bytes where it is, not ${size}`);
    }
    const known = Math.min(end, body.sizeBytes ?? Number.POSITIVE_INFINITY);
    return { entry, [Symbol.asyncIterator]: () => bytesOf(body, known - start, options) };
  }

  async link(path: MountPath, options: CallOptions = {}): Promise<DirectLink> {
    this.#begin(options);
    return { url: this.#getFile(path).address };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#client.close();
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }

  #get(path: MountPath): UrlNode {
    let node: UrlNode | undefined = this.#root;
    for (const name of pathSegments(path)) node = node instanceof Map ? node.get(name) : undefined;
    if (node === undefined) throw storageError('ENTRY_NOT_FOUND');
    return node;
  }

  #getFile(path: MountPath): UrlFile {
    const node = this.#get(path);
    if (node instanceof Map) throw storageError('IS_A_DIRECTORY');
    return node;
  }

  /** After an error that a wrong size makes: whether another one may be known now. */
  #forgetSize(file: UrlFile, error: unknown): boolean {
    if (file.sizeBytes !== undefined || !this.#sizes.has(file)) return false;
    // The one of the answer is known by now.
    if (AppError.is(error, 'CONTENT_CORRUPT')) return true;
    return AppError.is(error, 'RANGE_NOT_SATISFIABLE') && this.#sizes.delete(file);
  }

  async #describe(name: EntryName, node: UrlNode, options: CallOptions): Promise<Entry> {
    if (node instanceof Map) return folderNamed(name);
    return { name, isDirectory: false, sizeBytes: await this.#sizeOf(node, options), modifiedAt: node.modifiedAt };
  }

  async #sizeOf(file: UrlFile, options: CallOptions): Promise<number | undefined> {
    if (file.sizeBytes !== undefined || !this.#asksSizes) return file.sizeBytes;
    if (!this.#sizes.has(file)) {
      try {
        this.#sizes.set(file, await this.#client.size(file.address, options));
      } catch (error) {
        throwIfAborted(options.signal);
        // One server that does not answer hides no other file. Whoever opens this one is told.
        if (!AppError.is(error)) throw error;
        return undefined;
      }
    }
    return this.#sizes.get(file);
  }
}

/** @param length of what is wanted; infinite where nobody knows */
async function* bytesOf({ answer, skipBytes }: FetchedBody, length: number, { signal }: CallOptions): AsyncGenerator<Uint8Array, void> {
  const stop = () => void answer.destroy(new Error('stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  let skip = skipBytes;
  let missing = length;
  try {
    throwIfAborted(signal);
    for await (const chunk of answer) {
      const piece = chunk.subarray(Math.min(skip, chunk.byteLength));
      skip -= chunk.byteLength - piece.byteLength;
      const wanted = piece.subarray(0, Math.min(piece.byteLength, missing));
      missing -= wanted.byteLength;
      if (wanted.byteLength > 0) yield wanted;
      throwIfAborted(signal);
      if (missing === 0) return;
    }
    if ((missing !== 0 && Number.isFinite(missing)) || !answer.complete) throw new AppError('STORAGE_UNAVAILABLE', 'the file breaks off');
  } catch (error) {
    if (signal?.aborted) throw abortError(signal);
    throw AppError.is(error) ? error : new AppError('STORAGE_UNAVAILABLE', 'the file breaks off', { cause: error });
  } finally {
    signal?.removeEventListener('abort', stop);
    if (!answer.complete) answer.destroy();
  }
}

// biome-ignore lint/correctness/useYield: there is nothing to yield
async function* nothing({ signal }: CallOptions): AsyncGenerator<Uint8Array, void> {
  throwIfAborted(signal);
}
