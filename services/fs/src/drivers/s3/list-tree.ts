import { childPath, type MountPath } from '@wharf/paths';
import type { Entry, PlacedEntry } from '../../driver-contract/storage-driver.ts';
import type { ListedObject, ListedPage } from './client.ts';
import type { Keys } from './keys.ts';

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
  /** Of folders that were told: their paths, by what the keys below begin with. Undefined for those that are not shown. */
  readonly #folders: Map<string, MountPath | undefined>;
  /** Keys of files that others still may begin with: the order of keys puts nothing between that does not. */
  #files: string[] = [];

  constructor(keys: Keys, make: EntryMaker, directory: MountPath, prefix: string) {
    this.#keys = keys;
    this.#make = make;
    this.#folders = new Map([[prefix, directory]]);
  }

  /** What a page of the listing adds. */
  *entriesOf({ objects }: ListedPage): Generator<PlacedEntry, void> {
    for (const object of objects) {
      this.#files = this.#files.filter((key) => object.key.startsWith(key));
      const at = object.key.lastIndexOf('/') + 1;
      const prefix = object.key.slice(0, at);
      const folder = yield* this.#enter(prefix);
      const name = folder === undefined ? undefined : this.#keys.nameBelow(prefix, object.key);
      if (folder === undefined || name === undefined || this.#files.includes(object.key)) continue;
      yield { path: childPath(folder, name), entry: this.#make.file(name, object) };
      this.#files.push(object.key);
    }
  }

  /** Tells a folder that was not yet, after those above it. @returns its path, undefined where it is not shown */
  *#enter(prefix: string): Generator<PlacedEntry, MountPath | undefined> {
    if (this.#folders.has(prefix)) return this.#folders.get(prefix);
    const key = prefix.slice(0, -1);
    const parentPrefix = key.slice(0, key.lastIndexOf('/') + 1);
    const parent = parentPrefix === prefix ? undefined : yield* this.#enter(parentPrefix);
    const name = parent === undefined || this.#files.includes(key) ? undefined : this.#keys.nameBelow(parentPrefix, key);
    const path = parent === undefined || name === undefined ? undefined : childPath(parent, name);
    this.#folders.set(prefix, path);
    if (path !== undefined && name !== undefined) yield { path, entry: this.#make.folder(name) };
    return path;
  }
}
