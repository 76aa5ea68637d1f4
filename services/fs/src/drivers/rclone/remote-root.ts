import { AppError } from '@wharf/errors';
import { ownText } from '@wharf/pace';
import { baseName, MOUNT_ROOT, type MountPath, nameAt, parentPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { NameTraits } from '../../driver-contract/folding.ts';
import { OwnPart } from '../../driver-contract/own-part.ts';
import { createSeenFolders } from '../../driver-contract/seen-folders.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { isNotThere, rootIsGone, storageError } from '../../driver-contract/storage-error.ts';
import type { Place, RcloneClient, RemoteEntry } from './client.ts';
import { createFolderLooks, foldedName } from './folder-looks.ts';
import { isFolder } from './probe-names.ts';

/** How long a listing counts for how its names are spelled, from its beginning; one that takes long counts as long again, but not for longer. */
const LISTED_MS = 1_000;
const MOST_LISTED_MS = 5_000;
/** How long a look at the root counts for what comes into it, and how many times as long as it took, at most so long. */
const [ROOT_MS, ROOT_TIMES, MOST_ROOT_MS] = [1_000, 20, 60_000];
/** No name that is asked for is longer. */
const MAX_LISTED_LENGTH = 255;
/** What is kept of the names of a folder, in bytes: some 20,000 names of 20 letters. The others are looked for by a listing. */
const MAX_LISTED_BYTES = 2 * 1024 * 1024;
/** The same of all storages together. */
const MAX_ALL_LISTED_BYTES = 8 * MAX_LISTED_BYTES;
/** What a name takes beside its letters, one of these, and what is kept of a folder beside its names. */
const [NAME_BYTES, LETTER_BYTES, FOLDER_BYTES] = [64, 2, 512];

/** What a folder has that was listed a moment ago. */
interface Listed {
  /** Whether each is a folder. */
  readonly names: Map<string, boolean>;
  readonly bytes: number;
  readonly untilMs: number;
}

const listedOfAll = new LRUCache<string, Listed>({
  maxSize: MAX_ALL_LISTED_BYTES,
  sizeCalculation: ({ bytes }) => bytes,
  ttl: MOST_LISTED_MS,
  ttlAutopurge: true,
});

/** Something may be there that is no file. */
const UNCLEAR = Symbol('unclear');

/** How a server takes names. */
interface RemoteNames extends NameTraits {
  /** A folder is there when something is in it; the root always is. */
  readonly isBucket: boolean;
  /** A path may lead through links, which are not listed. */
  readonly followsLinks: boolean;
}

/** The places of a remote that is a storage. */
export interface RootPlaces {
  /** The folder that is shown. */
  readonly root: Place;
  /** Where free space is asked for, which is also how the root is seen to be there; undefined: at the root, which is listed for that. */
  readonly space: Place | undefined;
}

/**
 * The folder of the remote that is the storage. Where names fold or links are followed, a path leads somewhere only when its folder lists each segment, as
 * it is spelled, so that an entry has one path and rules on paths hold.
 */
export class RemoteRoot {
  readonly #client: RcloneClient;
  readonly #places: RootPlaces;
  readonly #seen = createSeenFolders<MountPath>();
  readonly #lookFor = createFolderLooks(
    (folder, tell, signal) => this.#look(folder, tell, signal),
    () => !this.#names.caseSensitive,
  );
  /** Folders that were listed a moment ago. */
  #listed = new OwnPart(listedOfAll);
  /** How often what was seen has been forgotten. */
  #forgotten = 0;
  /** So long the root counts as there. */
  #rootUntilMs = 0;
  #names: RemoteNames = { caseSensitive: true, folds: false, isBucket: false, followsLinks: false };

  constructor(client: RcloneClient, places: RootPlaces) {
    this.#client = client;
    this.#places = places;
  }

  get isCaseSensitive(): boolean {
    return this.#names.caseSensitive;
  }

  /** Whether what answers to a path may have another one. */
  get #goesByLists(): boolean {
    return this.#names.folds || this.#names.followsLinks;
  }

  /** How the server takes names. */
  learn(names: RemoteNames): void {
    this.#names = names;
  }

  /** What rclone calls a path, or a name of ours that is written as one. */
  place(path: string): Place {
    const { root } = this.#places;
    if (path === MOUNT_ROOT) return root;
    return root === '' ? path.slice(1) : root + path;
  }

  /** What is at a path in just this spelling. Undefined: nothing. */
  async find(path: MountPath, call: CallOptions): Promise<RemoteEntry | undefined> {
    const name = baseName(path);
    if (name === undefined) {
      if (!(await this.#isRootThere(call))) {
        this.#rootUntilMs = 0;
        this.forget();
        return undefined;
      }
      return { name: '', isFolder: true, sizeBytes: undefined, modifiedAt: new Date(0) };
    }
    if (!this.#goesByLists)
      return this.#client.find(this.place(path), call).catch((error: unknown) => this.#findBelowFile(path, error, call));
    if (!(await this.isSpelled(parentPath(path), call))) return undefined;
    const file = this.#listedAs(path) === 'file' ? await this.#client.findFile(this.place(path), call) : undefined;
    return file ?? (await this.#lookFor(path, call.signal)).itself;
  }

  async #isRootThere(call: CallOptions): Promise<boolean> {
    const { root, space } = this.#places;
    if (space === undefined) return (await isFolder(this.#client, root, call)) || this.#names.isBucket;
    try {
      await this.#client.space(space, call);
      return true;
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) return false;
      throw error;
    }
  }

  /**
   * What comes into the root needs it to be there: rclone makes it anew where it is away, as where a disk of the server is not mounted, and what was stored
   * there is seen by nobody once it is back. A look that takes long counts for longer.
   *
   * @throws AppError STORAGE_UNAVAILABLE
   */
  async checkRoot(call: CallOptions): Promise<void> {
    // Where a remote begins, and in a bucket, nothing is made.
    if (this.#places.root === '' || this.#names.isBucket || this.#rootUntilMs > performance.now()) return;
    const beganAt = performance.now();
    if ((await this.find(MOUNT_ROOT, call)) === undefined) throw rootIsGone();
    const now = performance.now();
    this.#rootUntilMs = now + Math.min(MOST_ROOT_MS, Math.max(ROOT_MS, ROOT_TIMES * (now - beganAt)));
  }

  /** Servers have many words for what is asked for below a file. @throws what was thrown, where that is not it */
  async #findBelowFile(path: MountPath, error: unknown, call: CallOptions): Promise<undefined> {
    const parent = parentPath(path);
    if (!AppError.is(error, 'STORAGE_UNAVAILABLE') || parent === MOUNT_ROOT || call.signal?.aborted) throw error;
    const above = await this.find(parent, call);
    if (above?.isFolder) throw error;
    return undefined;
  }

  /**
   * The same for what is to be made or replaced.
   *
   * @param file what answers to the name, in whatever spelling, where that is known. @throws AppError ENTRY_EXISTS: something has another spelling of it (also where it is there itself), or is not listed
   */
  async findAny(path: MountPath, call: CallOptions, file?: RemoteEntry): Promise<RemoteEntry | undefined> {
    const name = baseName(path);
    if (name === undefined) return this.find(path, call);
    const there = file ?? (await this.#findAnswering(path, call));
    if (there === undefined) return undefined;
    if (there !== UNCLEAR && (!this.#goesByLists || this.#listedAs(path) !== undefined)) return there;
    if (!this.#goesByLists) return this.find(path, call);
    if (!(await this.isSpelled(parentPath(path), call))) {
      // A folder on the way may be spelled otherwise.
      await this.findAny(parentPath(path), call);
      return undefined;
    }
    let { itself, others } = await this.#lookFor(path, call.signal);
    if (itself === undefined && others === 0) {
      if (!(await this.#answers(path, call))) return undefined;
      // It may have been made since.
      ({ itself, others } = await this.#lookFor(path, call.signal));
    }
    // Once it steps aside for what replaces it, its name would lead to the other one.
    if (itself === undefined || others > 0) throw storageError('ENTRY_EXISTS');
    return itself;
  }

  /** The file that answers to a name, however it is spelled there: asked without a list of the folder around it. Undefined: nothing does. */
  async #findAnswering(path: MountPath, call: CallOptions): Promise<RemoteEntry | typeof UNCLEAR | undefined> {
    const place = this.place(path);
    try {
      const file = await this.#client.findFile(place, call);
      if (file !== undefined) return file;
      for await (const _ of this.#client.list(place, call)) return UNCLEAR;
      // Stores of objects list what is not there as empty.
      return this.#names.isBucket ? undefined : UNCLEAR;
    } catch (error) {
      // Servers have many words for what is no folder, and what is below a file.
      return AppError.is(error, 'ENTRY_NOT_FOUND') ? undefined : UNCLEAR;
    }
  }

  /** Whether something has a name that is not listed. */
  async #answers(path: MountPath, call: CallOptions): Promise<boolean> {
    const place = this.place(path);
    // A folder is looked for in the list of its parent, which has neither links nor other spellings.
    return (await this.#client.find(place, call)) !== undefined || (await isFolder(this.#client, place, call));
  }

  /**
   * A folder that the server says is made: of two who make one in two spellings at once it says so to both.
   *
   * @returns undefined where a path tells by itself that it is there. @throws AppError ENTRY_EXISTS (spelled otherwise) | ENTRY_NOT_FOUND | NOT_A_DIRECTORY
   */
  async findMade(path: MountPath, call: CallOptions): Promise<RemoteEntry | undefined> {
    if (!this.#goesByLists) return undefined;
    const made = (await this.find(path, call)) ?? (await this.findAny(path, call));
    if (made === undefined) throw storageError('ENTRY_NOT_FOUND');
    if (!made.isFolder) throw storageError('NOT_A_DIRECTORY');
    return made;
  }

  /** Whether a folder is there in just this spelling; always true where a path tells that by itself. */
  async isSpelled(folder: MountPath, call: CallOptions): Promise<boolean> {
    if (!this.#goesByLists || folder === MOUNT_ROOT || this.isKnownFolder(folder)) return true;
    // A walk lists one folder of a long one after the other: that is not listed once more for each.
    if (this.#listedAs(folder) === 'folder' && (await this.isSpelled(parentPath(folder), call))) return true;
    const isThere = (await this.find(folder, call))?.isFolder ?? false;
    if (isThere) this.know(folder);
    return isThere;
  }

  /**
   * Whether a name is another spelling of an entry's own, and of no other: a disk below the server may have several that differ by their spelling alone.
   *
   * @param one is there
   */
  async isRespelled(one: MountPath, other: MountPath, { signal }: CallOptions): Promise<boolean> {
    const isOtherCase = !this.#names.caseSensitive && one !== other && foldedName(one) === foldedName(other);
    if (!isOtherCase || parentPath(one) !== parentPath(other)) return false;
    const { itself, others } = await this.#lookFor(other, signal);
    return itself === undefined && others === 1;
  }

  isKnownFolder(path: MountPath): boolean {
    return this.#seen.has(path);
  }

  /** A folder is there. */
  know(path: MountPath): void {
    this.#seen.set(path, true);
  }

  /** Entries have moved, or are gone. */
  forget(): void {
    this.#seen.clear();
    // What was kept goes by itself in a moment.
    this.#listed = new OwnPart(listedOfAll);
    this.#forgotten += 1;
  }

  /** A file was given its name. */
  placed(path: MountPath): void {
    this.#listed.get(parentPath(path))?.names.set(ownText(nameAt(path)), false);
  }

  /** As what a folder had a name in just this spelling when it was listed a moment ago. Undefined: it had not, or that is not known. */
  #listedAs(path: MountPath): 'folder' | 'file' | undefined {
    const { names, untilMs = 0 } = this.#listed.get(parentPath(path)) ?? {};
    const isFolder = untilMs > performance.now() ? names?.get(nameAt(path)) : undefined;
    return isFolder === undefined ? undefined : isFolder ? 'folder' : 'file';
  }

  /** Tells each entry of a folder, and keeps how it spells its names, but those that differ by their spelling alone. */
  async #look(folder: MountPath, tell: (entry: RemoteEntry) => void, signal: AbortSignal): Promise<void> {
    const names = new Map<string, boolean>();
    /** Those in `names`, by what the server may take them for. */
    const kept = new Map<string, string>();
    const keyOf = (name: string) => (this.#names.caseSensitive ? name : foldedName(name));
    let isFull = false;
    let bytes = FOLDER_BYTES + LETTER_BYTES * folder.length;
    const beganAt = performance.now();
    const forgotten = this.#forgotten;
    try {
      for await (const entry of this.#client.list(this.place(folder), { signal })) {
        tell(entry);
        const { name, isFolder } = entry;
        if (name.length > MAX_LISTED_LENGTH) continue;
        const key = keyOf(name);
        const other = kept.get(key) ?? name;
        if (other !== name) names.delete(other);
        const more = NAME_BYTES + LETTER_BYTES * name.length;
        isFull ||= bytes + more > MAX_LISTED_BYTES;
        if (isFull || other !== name) continue;
        names.set(name, isFolder);
        kept.set(key, name);
        bytes += more;
      }
    } catch (error) {
      if (!isNotThere(error)) throw error;
      return;
    }
    const tookMs = performance.now() - beganAt;
    const untilMs = beganAt + Math.max(LISTED_MS, tookMs + Math.min(tookMs, MOST_LISTED_MS));
    if (forgotten === this.#forgotten) this.#listed.set(folder, { names, bytes, untilMs });
  }
}
