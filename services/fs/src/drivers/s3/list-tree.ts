import { childPath, type MountPath } from '@wharf/paths';
import type { ListingShare } from '../../driver-contract/listing-room.ts';
import { PackedNames } from '../../driver-contract/packed-names.ts';
import type { Entry, PlacedEntry } from '../../driver-contract/storage-driver.ts';
import type { ListedObject } from './client.ts';
import type { Keys } from './keys.ts';

/** What a folder takes beside the characters of its name, in bytes. */
const FOLDER_BYTES = 40;

/** How objects and folders become entries. */
interface EntryMaker {
  file(name: Entry['name'], object: ListedObject): Entry;
  folder(name: Entry['name']): Entry;
}

/**
 * The tree below a folder, made of a listing of all its keys: the folders on the way to each, once, and the file. Where a file has the name of a folder
 * the file alone is shown, as in a listing of one folder.
 */
export class ListedTree {
  readonly #keys: Keys;
  readonly #make: EntryMaker;
  readonly #directory: MountPath;
  readonly #rootPrefix: string;
  /** Folders that were told: the number of the one above, and the name. The root is 0, others have theirs by their order. */
  readonly #folders = new PackedNames();
  /** The last one that was entered. */
  #last: { readonly prefix: string; readonly path: MountPath };
  /** Keys of files that others still may begin with: the order of keys puts nothing between that does not. */
  #files: string[] = [];
  readonly #take: ListingShare['take'];

  /** @param take is told of the memory that folders take; it may refuse */
  constructor(keys: Keys, make: EntryMaker, directory: MountPath, prefix: string, take: ListingShare['take']) {
    this.#take = take;
    this.#keys = keys;
    this.#make = make;
    this.#directory = directory;
    this.#rootPrefix = prefix;
    this.#last = { prefix, path: directory };
  }

  [Symbol.dispose](): void {
    this.#folders.free();
  }

  /** What the next object of the listing adds. Hundreds of folders, where its key has as many. */
  *entriesOf(object: ListedObject): Generator<PlacedEntry, void> {
    this.#files = this.#files.filter((key) => object.key.startsWith(key));
    const at = object.key.lastIndexOf('/') + 1;
    const prefix = object.key.slice(0, at);
    const folder = yield* this.#enter(prefix);
    const name = folder === undefined ? undefined : this.#keys.nameBelow(prefix, object.key);
    if (folder === undefined || name === undefined || this.#files.includes(object.key)) return;
    yield { path: childPath(folder, name), entry: this.#make.file(name, object) };
    this.#files.push(object.key);
  }

  /**
   * Tells the folders on the way that were not told yet, from the top. Of what is below one that is not shown nothing is kept: a store may name such
   * folders without end.
   *
   * @returns the path of the last one, undefined where it is not shown
   * @throws AppError FAILED_PRECONDITION: there are more than one walk remembers
   */
  *#enter(prefix: string): Generator<PlacedEntry, MountPath | undefined> {
    if (prefix === this.#last.prefix) return this.#last.path;
    let path = this.#directory;
    let above = 0;
    for (let at = this.#rootPrefix.length; at < prefix.length; ) {
      const end = prefix.indexOf('/', at);
      const key = prefix.slice(0, end);
      const known = this.#folders.find(`${above}/${key.slice(at)}`);
      if (known === undefined) {
        const name = this.#files.includes(key) ? undefined : this.#keys.nameBelow(prefix.slice(0, at), key);
        if (name === undefined) return undefined;
        path = childPath(path, name);
        this.#take(FOLDER_BYTES + name.length);
        this.#folders.add(`${above}/${name}`);
        above = this.#folders.count;
        yield { path, entry: this.#make.folder(name) };
      } else {
        path = childPath(path, key.slice(at) as Entry['name']);
        above = known + 1;
      }
      at = end + 1;
    }
    this.#last = { prefix, path };
    return path;
  }
}
