import { createPace, type Pace, textBytes } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import { PackedNames } from './packed-names.ts';
import type { Entry, Hashes } from './storage-driver.ts';
import { TextStore } from './text-store.ts';

/** So many are quicker as objects. */
const FEW_ENTRIES = 1_000;
/** What one of those takes beside its texts, roughly. */
const OBJECT_BYTES = 240;
/** Of a name in a list, beside its text. */
const LISTED_NAME_BYTES = 32;

/** What a sort looks at. */
export type EntryHead = Pick<Entry, 'name' | 'isDirectory' | 'sizeBytes'> & { readonly modifiedMs: number };

/** The entries of one folder by their names, in the order in which those came. Many take a third of what they would take as objects, in memory that is not V8's. */
export class EntryMap {
  #entries: Entries | PackedEntries = new Map();
  /** Of the texts of those that are objects. */
  #textBytes = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** Of memory, roughly. */
  get bytes(): number {
    return this.#entries instanceof PackedEntries ? this.#entries.bytes : this.size * OBJECT_BYTES + this.#textBytes;
  }

  /** What a list of all names takes beside that, roughly. */
  get listBytes(): number {
    return this.#entries instanceof PackedEntries ? this.#entries.listBytes : this.size * LISTED_NAME_BYTES;
  }

  get(name: EntryName): Entry | undefined {
    return this.#entries.get(name);
  }

  has(name: EntryName): boolean {
    return this.#entries.has(name);
  }

  isDirectory(name: EntryName): boolean {
    return this.#entries instanceof PackedEntries ? this.#entries.isDirectory(name) : this.#entries.get(name)?.isDirectory === true;
  }

  /** One that is there already keeps its place. */
  set(entry: Entry): void {
    if (!(this.#entries instanceof PackedEntries)) this.#textBytes += bytesOfTexts(entry) - bytesOfTexts(this.#entries.get(entry.name));
    this.#entries.set(entry.name, entry);
    if (this.#entries instanceof PackedEntries || this.size <= FEW_ENTRIES) return;
    const packed = new PackedEntries();
    for (const each of this.#entries.values()) packed.set(each.name, each);
    this.#entries = packed;
  }

  delete(name: EntryName): void {
    if (!(this.#entries instanceof PackedEntries)) this.#textBytes -= bytesOfTexts(this.#entries.get(name));
    this.#entries.delete(name);
  }

  values(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** The same as a list. Of many, all of them in one turn would keep the thread. */
  async all(pace: Pace): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const entry of this.values()) {
      entries.push(entry);
      await pace.step();
    }
    return entries;
  }

  /** The same for the last time: memory is freed on the way. */
  drain(): Iterable<Entry> {
    return this.#entries instanceof PackedEntries ? this.#entries.drain() : this.#entries.values();
  }

  /** Frees its memory at once. Nothing is read after that. */
  free(): void {
    if (this.#entries instanceof PackedEntries) this.#entries.free();
  }

  async heads(pace: Pace): Promise<EntryHead[]> {
    const heads: EntryHead[] = [];
    for (const head of this.#entries instanceof PackedEntries ? this.#entries.heads() : this.#entries.values().map(headOf)) {
      heads.push(head);
      await pace.step();
    }
    return heads;
  }

  async names(pace: Pace): Promise<EntryName[]> {
    return (await this.heads(pace)).map(({ name }) => name);
  }
}

/**
 * Takes entries over as they come, with room for others: of a big folder, all of them at once would keep the thread.
 *
 * @param onEntry is called for each. @throws what it throws
 */
export async function takeEntries(entries: AsyncIterable<Entry> | Iterable<Entry>, onEntry?: (entry: Entry) => void): Promise<EntryMap> {
  const taken = new EntryMap();
  const pace = createPace();
  try {
    for await (const entry of entries) {
      onEntry?.(entry);
      taken.set(entry);
      await pace.step();
    }
    return taken;
  } catch (error) {
    taken.free();
    throw error;
  }
}

function bytesOfTexts(entry: Entry | undefined): number {
  if (!entry) return 0;
  const { name, version = '', hashes } = entry;
  return textBytes(name) + textBytes(version) + (hashes ? JSON.stringify(hashes).length : 0);
}

type Entries = Pick<Map<EntryName, Entry>, 'size' | 'get' | 'has' | 'set' | 'delete' | 'values'>;

const IS_DIRECTORY = 1;
const IS_LINK = 2;
const HAS_THUMBNAIL = 4;
const HAS_CREATED = 8;
const HAS_VERSION = 16;
const HAS_HASHES = 32;
const HAS_SIZE = 64;
const LEAST_ENTRIES = 2_048;

class PackedEntries {
  readonly #names = new PackedNames();
  readonly #texts = new TextStore();
  #flags = new Uint8Array(LEAST_ENTRIES);
  #sizes = new Float64Array(LEAST_ENTRIES);
  #modified = new Float64Array(LEAST_ENTRIES);
  /** Where the storage tells it. */
  #created: Float64Array<ArrayBuffer> | undefined;
  /** Where the version of an entry is, or its digests and the version as JSON. */
  #more: Uint32Array<ArrayBuffer> | undefined;
  /** What became of entries; undefined: it is gone. */
  readonly #changed = new Map<EntryName, Entry | undefined>();
  #changedTextBytes = 0;
  #gone = 0;

  get size(): number {
    return this.#names.count - this.#gone;
  }

  get bytes(): number {
    const columns = [this.#flags, this.#sizes, this.#modified, this.#created, this.#more];
    const columnBytes = columns.reduce((sum, column) => sum + (column?.byteLength ?? 0), 0);
    return this.#names.bytes + this.#texts.bytes + columnBytes + this.#changed.size * OBJECT_BYTES + this.#changedTextBytes;
  }

  get listBytes(): number {
    return this.#names.bytes + LISTED_NAME_BYTES * this.size;
  }

  get(name: EntryName): Entry | undefined {
    if (this.#changed.has(name)) return this.#changed.get(name);
    const number = this.#names.find(name);
    return number === undefined ? undefined : this.#read(number, name);
  }

  isDirectory(name: EntryName): boolean {
    if (this.#changed.has(name)) return this.#changed.get(name)?.isDirectory ?? false;
    const number = this.#names.find(name);
    return number !== undefined && this.#is(number, IS_DIRECTORY);
  }

  set(name: EntryName, entry: Entry): void {
    const number = this.#names.count;
    if (this.#names.add(name)) this.#write(number, entry);
    else {
      if (!this.has(name)) this.#gone -= 1;
      this.#change(name, entry);
    }
  }

  #change(name: EntryName, entry: Entry | undefined): void {
    this.#changedTextBytes += bytesOfTexts(entry) - bytesOfTexts(this.#changed.get(name));
    this.#changed.set(name, entry);
  }

  has(name: EntryName): boolean {
    return this.#changed.has(name) ? this.#changed.get(name) !== undefined : this.#names.find(name) !== undefined;
  }

  delete(name: EntryName): boolean {
    if (!this.has(name)) return false;
    this.#change(name, undefined);
    this.#gone += 1;
    return true;
  }

  *values(): Generator<Entry, undefined> {
    for (let number = 0; number < this.#names.count; number += 1) {
      const name = this.#names.at(number) as EntryName;
      const entry = this.#changed.has(name) ? this.#changed.get(name) : this.#read(number, name);
      if (entry) yield entry;
    }
  }

  *drain(): Generator<Entry, undefined> {
    let number = 0;
    for (const entry of this.values()) {
      this.#names.freeBefore(number);
      number += 1;
      yield entry;
    }
  }

  free(): void {
    this.#names.free();
    this.#texts.free();
    for (const column of [this.#flags, this.#sizes, this.#modified, this.#created, this.#more]) column?.buffer.transfer(0);
  }

  *heads(): Generator<EntryHead, undefined> {
    for (let number = 0; number < this.#names.count; number += 1) {
      const name = this.#names.at(number) as EntryName;
      if (!this.#changed.has(name))
        yield {
          name,
          isDirectory: this.#is(number, IS_DIRECTORY),
          sizeBytes: this.#sizeOf(number),
          modifiedMs: this.#modified[number] ?? 0,
        };
      const changed = this.#changed.get(name);
      if (changed) yield headOf(changed);
    }
  }

  #is(number: number, flag: number): boolean {
    return ((this.#flags[number] ?? 0) & flag) !== 0;
  }

  #sizeOf(number: number): number | undefined {
    return this.#is(number, HAS_SIZE) ? this.#sizes[number] : undefined;
  }

  #write(number: number, entry: Entry): void {
    const { sizeBytes, createdAt, version, hashes } = entry;
    if (number === this.#flags.length) this.#grow();
    const room = this.#flags.length;
    this.#flags[number] =
      (entry.isDirectory ? IS_DIRECTORY : 0) |
      (entry.isLink ? IS_LINK : 0) |
      (entry.hasThumbnail ? HAS_THUMBNAIL : 0) |
      (createdAt ? HAS_CREATED : 0) |
      (version !== undefined ? HAS_VERSION : 0) |
      (hashes ? HAS_HASHES : 0) |
      (sizeBytes !== undefined ? HAS_SIZE : 0);
    this.#sizes[number] = sizeBytes ?? 0;
    this.#modified[number] = entry.modifiedAt.getTime();
    if (createdAt) {
      this.#created ??= new Float64Array(room);
      this.#created[number] = createdAt.getTime();
    }
    if (version === undefined && !hashes) return;
    this.#more ??= new Uint32Array(room);
    this.#more[number] = this.#texts.append(hashes ? JSON.stringify([hashes, version]) : (version ?? ''));
  }

  #read(number: number, name: EntryName): Entry {
    const createdMs = this.#is(number, HAS_CREATED) ? this.#created?.[number] : undefined;
    const more = this.#is(number, HAS_VERSION | HAS_HASHES) ? this.#texts.read(this.#more?.[number] ?? 0) : '';
    const [hashes, version] = this.#is(number, HAS_HASHES) ? (JSON.parse(more) as [Hashes, string | undefined]) : [undefined, more];
    return {
      name,
      isDirectory: this.#is(number, IS_DIRECTORY),
      sizeBytes: this.#sizeOf(number),
      modifiedAt: new Date(this.#modified[number] ?? 0),
      ...(createdMs !== undefined && { createdAt: new Date(createdMs) }),
      ...(hashes && { hashes }),
      ...(this.#is(number, HAS_VERSION) && version !== undefined && { version }),
      ...(this.#is(number, IS_LINK) && { isLink: true }),
      ...(this.#is(number, HAS_THUMBNAIL) && { hasThumbnail: true }),
    };
  }

  #grow(): void {
    const room = 2 * this.#flags.length;
    this.#flags = new Uint8Array(this.#flags.buffer.transfer(room));
    this.#sizes = new Float64Array(this.#sizes.buffer.transfer(8 * room));
    this.#modified = new Float64Array(this.#modified.buffer.transfer(8 * room));
    if (this.#created) this.#created = new Float64Array(this.#created.buffer.transfer(8 * room));
    if (this.#more) this.#more = new Uint32Array(this.#more.buffer.transfer(4 * room));
  }
}

function headOf({ name, isDirectory, sizeBytes, modifiedAt }: Entry): EntryHead {
  return { name, isDirectory, sizeBytes, modifiedMs: modifiedAt.getTime() };
}
