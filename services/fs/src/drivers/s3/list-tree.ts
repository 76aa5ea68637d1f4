import { childPath, type MountPath } from '@wharf/paths';
import type { Entry, PlacedEntry } from '../../driver-contract/storage-driver.ts';
import { tooManyFolders } from '../../driver-contract/walk-bound.ts';
import type { ListedObject } from './client.ts';
import type { Keys } from './keys.ts';

/** What one walk remembers of folders, in bytes: over a million of common names, and a fifth of that of the longest ones. */
const MAX_REMEMBERED_BYTES = 256 * 1024 * 1024;
/** What a folder takes beside the characters of its key and of its path, in bytes. */
const FOLDER_BYTES = 128;

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
  /** Of folders that were told: their paths, by what the keys below begin with. */
  readonly #folders: Map<string, MountPath>;
  /** Keys of files that others still may begin with: the order of keys puts nothing between that does not. */
  #files: string[] = [];
  #rememberedBytes = 0;
  readonly #maxRememberedBytes: number;

  constructor(keys: Keys, make: EntryMaker, directory: MountPath, prefix: string, maxRememberedBytes = MAX_REMEMBERED_BYTES) {
    this.#maxRememberedBytes = maxRememberedBytes;
    this.#keys = keys;
    this.#make = make;
    this.#directory = directory;
    this.#rootPrefix = prefix;
    this.#folders = new Map([[prefix, directory]]);
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
    const known = this.#folders.get(prefix);
    if (known !== undefined) return known;
    let path = this.#directory;
    for (let at = this.#rootPrefix.length; at < prefix.length; ) {
      const end = prefix.indexOf('/', at);
      const key = prefix.slice(0, end);
      let below = this.#folders.get(`${key}/`);
      if (below === undefined) {
        const name = this.#files.includes(key) ? undefined : this.#keys.nameBelow(prefix.slice(0, at), key);
        if (name === undefined) return undefined;
        below = childPath(path, name);
        this.#rememberedBytes += key.length + below.length + FOLDER_BYTES;
        if (this.#rememberedBytes > this.#maxRememberedBytes) throw tooManyFolders();
        this.#folders.set(`${key}/`, below);
        yield { path: below, entry: this.#make.folder(name) };
      }
      path = below;
      at = end + 1;
    }
    return path;
  }
}
