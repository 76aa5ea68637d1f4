import { createHash, randomUUID } from 'node:crypto';
import { baseName, type EntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath, pathSegments, sortNames } from '@wharf/paths';
import { z } from 'zod';
import { beganElsewhere, placeMark, readBegun } from '../../driver-contract/begun-removal.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { untilClosed } from '../../driver-contract/calls.ts';
import { refusalOf } from '../../driver-contract/declared-names.ts';
import type {
  ByteRange,
  CallOptions,
  DriverTraits,
  Entry,
  FileContent,
  NameListing,
  PlaceOptions,
  RemoveOptions,
  StatManyOptions,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';

/** What a memory storage cannot do, so that the domain can be tried on storages of all kinds. */
export interface MemoryProfile {
  /** `A` and `a` are one name, which is reached by its own spelling only. */
  readonly foldsCase?: boolean;
  /** The grid of its times; `own`: it dates files itself. Default 1. */
  readonly timeStepMs?: number | 'own';
  /** As a store of objects: files have versions, and folders are not copied. */
  readonly hasObjects?: boolean;
  /** What a file holds is known when it was read. */
  readonly hidesSizes?: boolean;
  /** Knows the SHA-256 of each file. */
  readonly tellsHashes?: boolean;
  /** Keeps short names without some characters only, and must be told sizes beforehand. */
  readonly isPicky?: boolean;
  /** Has a small picture of each file that begins as a PNG does. */
  readonly hasThumbnails?: boolean;
}

const PICKY = {
  maxNameBytes: 100,
  maxPathBytes: 400,
  refusedNames: { characters: '<>:"|?*\u007f', endings: '. ', stems: ['con', 'nul'] },
  needsSize: true,
} as const;

interface MemoryFile {
  readonly content: Uint8Array;
  readonly version: string;
  readonly modifiedAt: Date;
  readonly createdAt: Date;
  /** Higher for what was stored later. */
  readonly order: number;
}

interface MemoryFolder {
  readonly children: Map<EntryName, MemoryNode>;
  /** Their names, by what they are without regard to case. */
  readonly spellings: Map<string, EntryName>;
  readonly createdAt: Date;
  modifiedAt: Date;
  order: number;
  /** Another one after each change of the names, and in each folder. */
  version: string;
}

const PNG_MARK = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

type MemoryNode = MemoryFile | MemoryFolder;

let latestOrder = 0;

/** What is known of a removal that has begun: the latest order that it takes, and where it is. */
const begunShape = z.tuple([z.number(), z.string()]);

const READ_CHUNK_BYTES = 64 * 1024;

/** A whole storage in memory, gone when it is closed: what the domain's tests mount. Nodes of files never change, so copies share them. */
export class MemoryDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #profile: MemoryProfile;
  readonly #id = randomUUID();
  #root = newFolder();
  readonly #closing = new AbortController();
  readonly beginRemoval?: NonNullable<StorageDriver['beginRemoval']>;

  constructor(profile: MemoryProfile = {}) {
    const { foldsCase = false, timeStepMs = 1, hasObjects = false } = profile;
    this.#profile = profile;
    this.traits = {
      caseSensitive: !foldsCase,
      keepsEmptyDirectories: true,
      modTimeStepMs: timeStepMs === 'own' ? undefined : timeStepMs,
      maxNameBytes: 255,
      hashes: profile.tellsHashes ? ['sha256'] : [],
      exclusiveCreate: !hasObjects,
      copiesFolders: !hasObjects,
      ...(hasObjects && { removesStepwise: true }),
      ...(profile.isPicky && PICKY),
    };
    // As stores do it that date what they have.
    if (hasObjects) this.beginRemoval = async (paths) => paths.map((path) => JSON.stringify([latestOrder, placeMark(this.#id, path)]));
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    return this.#entry(path, this.#get(path));
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    for (const [name, node] of [...this.#getFolder(directory).children]) {
      throwIfAborted(options.signal);
      yield this.#describe(name, node);
    }
  }

  async read(path: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const node = this.#get(path);
    if (isFolder(node)) throw storageError('IS_A_DIRECTORY');
    const { start, end } = resolveRange(range, node.content.byteLength);
    return { entry: this.#entry(path, node), [Symbol.asyncIterator]: () => chunksOf(node.content.subarray(start, end), options) };
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    this.#begin(options);
    if (this.traits.needsSize && options.sizeBytes === undefined) throw storageError('INVALID_ARGUMENT');
    this.#checkWritable(path, options);
    const folder = this.#makeFolders(parentPath(path));
    const chunks: Uint8Array[] = [];
    const until = untilClosed(options, this.#closing.signal);
    for await (const chunk of verifiedContent(content, until)) chunks.push(Uint8Array.from(chunk));
    if (options.afterWaiting) await options.afterWaiting();
    let replaced = this.#checkWritable(path, options);
    for (let isAnswered = options.beforePublish === undefined; !isAnswered; ) {
      await options.beforePublish?.();
      const there = this.#checkWritable(path, options);
      isAnswered = there === replaced;
      replaced = there;
    }
    this.#begin(options);
    const now = new Date();
    const file: MemoryFile = {
      content: Buffer.concat(chunks),
      version: randomUUID(),
      modifiedAt: this.#onGrid(options.modifiedAt, now),
      createdAt: replaced?.createdAt ?? now,
      order: nextOrder(),
    };
    // The folder may have been moved or removed meanwhile: what counts is the path.
    const target = this.#find(parentPath(path)) === folder ? folder : this.#makeFolders(parentPath(path));
    this.#checkSpelling(target, nameOf(path));
    put(target, nameOf(path), file);
    return this.#entry(path, file);
  }

  async makeDirectory(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    const existing = this.#find(path);
    if (existing !== undefined && !isFolder(existing)) throw storageError('ENTRY_EXISTS');
    const folder = this.#makeFolders(path);
    folder.order = nextOrder();
    return this.#entry(path, folder);
  }

  async remove(path: MountPath, options: RemoveOptions): Promise<void> {
    this.#begin(options);
    const [untilOrder, mark] = options.begun === undefined ? [] : readBegun(begunShape, options.begun);
    if (mark !== undefined && mark !== placeMark(this.#id, path)) throw beganElsewhere();
    const node = this.#get(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    requireUnchanged(options.onlyIf, this.#entry(path, node));
    if (isFolder(node) && node.children.size > 0 && !options.recursive) throw storageError('DIRECTORY_NOT_EMPTY');
    if (isFolder(node) && this.traits.removesStepwise) await this.#empty(node, options, { removed: 0 }, untilOrder);
    if (!isDoomed(node, untilOrder)) throw storageError('STALE_VERSION');
    take(this.#getFolder(parentPath(path)), nameOf(path));
  }

  async #empty(folder: MemoryFolder, options: RemoveOptions, count: { removed: number }, untilOrder: number | undefined): Promise<void> {
    for (const [name, node] of folder.children) {
      if (isFolder(node)) await this.#empty(node, options, count, untilOrder);
      if (!isDoomed(node, untilOrder)) continue;
      await options.beforeStep?.(count.removed);
      this.#begin(options);
      // While that was asked somebody may have stored something else.
      if (folder.children.get(name) !== node || !isDoomed(node, untilOrder)) continue;
      take(folder, name);
      count.removed += 1;
    }
  }

  async rename(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    this.#begin(options);
    const node = this.#get(from);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    if (from === to) return this.#entry(to, node);
    const folder = this.#getFolder(parentPath(to));
    const replaced = this.#find(to);
    if (replaced !== undefined) checkReplaceable(node, replaced, options);
    this.#checkName(nameOf(to));
    this.#checkSpelling(folder, nameOf(to), node);
    take(this.#getFolder(parentPath(from)), nameOf(from));
    put(folder, nameOf(to), node);
    return this.#entry(to, node);
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    this.#begin(options);
    const node = this.#get(from);
    if (from === to) throw storageError('ENTRY_EXISTS');
    if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    if (isFolder(node) && !this.traits.copiesFolders) throw storageError('UNSUPPORTED_OPERATION');
    const folder = this.#getFolder(parentPath(to));
    const replaced = this.#find(to);
    this.#checkSpelling(folder, nameOf(to));
    if (replaced !== undefined) {
      if (isFolder(node) || !options.overwrite) throw storageError('ENTRY_EXISTS');
      checkReplaceable(node, replaced, options);
    }
    const copied = this.#copyOf(node);
    put(folder, nameOf(to), copied);
    return this.#entry(to, copied);
  }

  async listNames(directory: MountPath, knownVersion: string | undefined, options: CallOptions = {}): Promise<NameListing | undefined> {
    this.#begin(options);
    const folder = this.#getFolder(directory);
    if (folder.version === knownVersion) return undefined;
    const directories = new Set([...folder.children].filter(([, node]) => isFolder(node)).map(([name]) => name));
    return { version: folder.version, names: sortNames([...folder.children.keys()]), directories };
  }

  async statMany(directory: MountPath, names: readonly EntryName[], options: StatManyOptions = {}): Promise<Entry[]> {
    this.#begin(options);
    const { children, version } = this.#getFolder(directory);
    if (options.ifVersion !== undefined && options.ifVersion !== version) throw storageError('STALE_VERSION');
    return names.flatMap((name) => {
      const node = children.get(name);
      return node === undefined ? [] : [this.#describe(name, node)];
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    this.#root = newFolder();
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    throwIfAborted(this.#closing.signal);
  }

  #find(path: MountPath): MemoryNode | undefined {
    let node: MemoryNode | undefined = this.#root;
    for (const name of pathSegments(path)) node = node !== undefined && isFolder(node) ? node.children.get(name) : undefined;
    return node;
  }

  #get(path: MountPath): MemoryNode {
    const node = this.#find(path);
    if (node === undefined) throw storageError('ENTRY_NOT_FOUND');
    return node;
  }

  #getFolder(path: MountPath): MemoryFolder {
    const node = this.#get(path);
    if (!isFolder(node)) throw storageError('NOT_A_DIRECTORY');
    return node;
  }

  #makeFolders(path: MountPath): MemoryFolder {
    let folder = this.#root;
    for (const name of pathSegments(path)) {
      const child = folder.children.get(name) ?? newFolder();
      if (!isFolder(child)) throw storageError('NOT_A_DIRECTORY');
      if (!folder.children.has(name)) {
        this.#checkName(name);
        this.#checkSpelling(folder, name);
        put(folder, name, child);
      }
      folder = child;
    }
    return folder;
  }

  #checkWritable(path: MountPath, { overwrite }: WriteOptions): MemoryFile | undefined {
    const existing = this.#find(path);
    if (existing === undefined) {
      if (path !== MOUNT_ROOT) this.#checkName(nameOf(path));
      const folder = this.#find(parentPath(path));
      if (folder !== undefined && isFolder(folder)) this.#checkSpelling(folder, nameOf(path));
      return undefined;
    }
    if (!overwrite) throw storageError('ENTRY_EXISTS');
    if (isFolder(existing)) throw storageError('IS_A_DIRECTORY');
    return existing;
  }

  #entry(path: MountPath, node: MemoryNode): Entry {
    return this.#describe(nameAt(path), node);
  }

  #describe(name: EntryName, node: MemoryNode): Entry {
    const { modifiedAt, createdAt } = node;
    if (isFolder(node)) return { name, isDirectory: true, sizeBytes: 0, modifiedAt, createdAt };
    const version = this.#profile.hasObjects ? { version: node.version } : {};
    const isShownSmall = this.#profile.hasThumbnails && PNG_MARK.equals(node.content.subarray(0, PNG_MARK.byteLength));
    const hashes = this.#profile.tellsHashes ? { hashes: { sha256: createHash('sha256').update(node.content).digest('hex') } } : {};
    return {
      name,
      isDirectory: false,
      sizeBytes: this.#profile.hidesSizes ? undefined : node.content.byteLength,
      modifiedAt,
      createdAt,
      ...version,
      ...hashes,
      ...(isShownSmall && { hasThumbnail: true }),
    };
  }

  #onGrid(given: Date | undefined, now: Date): Date {
    const stepMs = this.traits.modTimeStepMs ?? 1;
    const wanted = this.traits.modTimeStepMs === undefined ? now : (given ?? now);
    return new Date(Math.floor(wanted.getTime() / stepMs) * stepMs);
  }

  #copyOf(node: MemoryNode): MemoryNode {
    if (isFolder(node)) return copyOf(node);
    const modifiedAt = this.#onGrid(node.modifiedAt, new Date());
    return { ...node, version: randomUUID(), modifiedAt, createdAt: new Date(), order: nextOrder() };
  }

  #checkName(name: EntryName): void {
    if (refusalOf(this.traits, name) !== undefined) throw storageError('INVALID_ARGUMENT');
  }

  /** @param own what may keep its place under another spelling. @throws AppError ENTRY_EXISTS: something has the name in another spelling */
  #checkSpelling(folder: MemoryFolder, name: EntryName, own?: MemoryNode): void {
    if (!this.#profile.foldsCase || folder.children.has(name)) return;
    const other = folder.spellings.get(name.toLowerCase());
    if (other !== undefined && folder.children.get(other) !== own) throw storageError('ENTRY_EXISTS');
  }
}

function newFolder(): MemoryFolder {
  const now = new Date();
  return { children: new Map(), spellings: new Map(), createdAt: now, modifiedAt: now, order: nextOrder(), version: randomUUID() };
}

function nextOrder(): number {
  latestOrder += 1;
  return latestOrder;
}

/** Whether it was there when its removal began; a folder with something in it stays. */
function isDoomed(node: MemoryNode, untilOrder: number | undefined): boolean {
  return untilOrder === undefined || (node.order <= untilOrder && !(isFolder(node) && node.children.size > 0));
}

function isFolder(node: MemoryNode): node is MemoryFolder {
  return 'children' in node;
}

function put(folder: MemoryFolder, name: EntryName, node: MemoryNode): void {
  folder.children.set(name, node);
  folder.spellings.set(name.toLowerCase(), name);
  touch(folder);
}

function take(folder: MemoryFolder, name: EntryName): void {
  folder.children.delete(name);
  if (folder.spellings.get(name.toLowerCase()) === name) folder.spellings.delete(name.toLowerCase());
  touch(folder);
}

function touch(folder: MemoryFolder): void {
  folder.version = randomUUID();
  folder.modifiedAt = new Date();
}

function checkReplaceable(node: MemoryNode, replaced: MemoryNode, { overwrite }: PlaceOptions): void {
  if (!overwrite) throw storageError('ENTRY_EXISTS');
  if (isFolder(node) && !isFolder(replaced)) throw storageError('NOT_A_DIRECTORY');
  if (!isFolder(node) && isFolder(replaced)) throw storageError('IS_A_DIRECTORY');
  if (isFolder(replaced) && replaced.children.size > 0) throw storageError('DIRECTORY_NOT_EMPTY');
}

function copyOf(node: MemoryNode): MemoryNode {
  if (!isFolder(node)) return { ...node, version: randomUUID(), createdAt: new Date(), order: nextOrder() };
  const copied = newFolder();
  for (const [name, child] of node.children) put(copied, name, copyOf(child));
  copied.modifiedAt = node.modifiedAt;
  return copied;
}

function nameOf(path: MountPath): EntryName {
  const name = baseName(path);
  if (name === undefined) throw storageError('INVALID_ARGUMENT');
  return name;
}

async function* chunksOf(content: Uint8Array, { signal }: CallOptions): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < content.byteLength; at += READ_CHUNK_BYTES) {
    throwIfAborted(signal);
    yield content.subarray(at, at + READ_CHUNK_BYTES);
  }
}
