import { isDeepStrictEqual } from 'node:util';
import { baseName, MOUNT_ROOT, type MountPath, parentPath } from '@wharf/paths';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { RemoteAttrs, SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';
import { isKeptName } from './probe-names.ts';
import { SpelledNames } from './spelled-names.ts';

/** What is at a place, past links. */
export interface Seen {
  /** Of the target, where the place is a link. */
  readonly attrs: RemoteAttrs;
  readonly isLink: boolean;
  /** A link that leads nowhere: it counts as an empty file. */
  readonly isBroken: boolean;
}

/**
 * The folder of the server that is the storage. What links lead out of it is never touched. Where names fold (`guardSpelling`), a path leads somewhere only
 * when each segment is spelled as its folder lists it, so that an entry has one path and rules on paths hold.
 */
export class RemoteRoot {
  /** Without links, as the server says it. */
  readonly realPath: string;
  #names: SpelledNames | undefined;
  #newPlace: (folder: MountPath) => string = () => '';

  constructor(realPath: string) {
    this.realPath = realPath;
  }

  /** From now on other spellings of a name are not there. @param newPlace a name of ours in a folder */
  guardSpelling(newPlace: (folder: MountPath) => string): void {
    this.#names = new SpelledNames();
    this.#newPlace = newPlace;
  }

  /** What the server calls a path. */
  place(path: MountPath): string {
    if (path === '/') return this.realPath;
    return this.realPath === '/' ? path : this.realPath + path;
  }

  /**
   * What a path leads to, in one round of requests, or two for a link.
   * @throws AppError PERMISSION_DENIED when that is not below the root
   */
  async look(session: SftpSession, path: MountPath): Promise<Seen | undefined> {
    const [seen, isSpelled] = await Promise.all([this.lookAtListed(session, path), this.#isSpelled(session, path)]);
    return isSpelled ? seen : undefined;
  }

  /** The same for a path that is known to be spelled as the server lists it. */
  async lookAtListed(session: SftpSession, path: MountPath): Promise<Seen | undefined> {
    return (await this.#lookAt(session, path)).seen;
  }

  /**
   * The same as {@link look}, and whether the folder that it is in is known to be there. It is where something was found in it that is no link; and OpenSSH
   * says of a missing name where it would be only if its folder is there.
   */
  async lookWithFolder(session: SftpSession, path: MountPath): Promise<{ seen: Seen | undefined; hasFolder: boolean }> {
    if (!this.tellsFolder(session)) return { seen: await this.look(session, path), hasFolder: false };
    const { seen, isPlaced } = await this.#lookAt(session, path);
    return { seen, hasFolder: isPlaced && !seen?.isLink };
  }

  /** Whether a look at a path may tell that its folder is there. */
  tellsFolder(session: SftpSession): boolean {
    return session.placesMissing && this.#names === undefined && this.realPath !== '/';
  }

  /** @returns also whether the server said where the place really is */
  async #lookAt(session: SftpSession, path: MountPath): Promise<{ seen: Seen | undefined; isPlaced: boolean }> {
    const place = this.place(path);
    const [real, attrs] = await Promise.all([this.#realPathOf(session, place), orAbsent(session.lstat(place))]);
    this.#check(real);
    const isPlaced = real !== undefined;
    if (attrs === undefined) return { seen: undefined, isPlaced };
    if (attrs.kind !== 'link') return { seen: isPlaced ? { attrs, isLink: false, isBroken: false } : undefined, isPlaced };
    const target = isPlaced ? await orAbsent(session.stat(place)) : undefined;
    if (target !== undefined) return { seen: { attrs: target, isLink: true, isBroken: false }, isPlaced };
    return { seen: { attrs: { ...attrs, kind: 'file', sizeBytes: 0 }, isLink: true, isBroken: true }, isPlaced };
  }

  /** The entry itself, also where it is a link. @throws AppError PERMISSION_DENIED when its folder is not below the root */
  async lookAtEntry(session: SftpSession, path: MountPath): Promise<RemoteAttrs | undefined> {
    const [real, attrs, isSpelled] = await Promise.all([
      this.#realPathOf(session, this.place(parentPath(path))),
      orAbsent(session.lstat(this.place(path))),
      this.#isSpelled(session, path),
    ]);
    this.#check(real);
    return real === undefined || !isSpelled ? undefined : attrs;
  }

  /**
   * Where names fold: that an entry can be made, or is there, in just this spelling.
   *
   * @param itself an entry that may get this spelling. @returns whether it is what answers to it already
   * @throws AppError ENTRY_EXISTS for another spelling of what is there | INVALID_ARGUMENT for a name that the server would spell otherwise
   */
  async checkFree(session: SftpSession, path: MountPath, itself?: MountPath): Promise<boolean> {
    if (this.#names === undefined || path === MOUNT_ROOT) return false;
    const [folder, name] = [parentPath(path), baseName(path) ?? ''];
    const there = await orAbsent(session.lstat(this.place(path)));
    let isItself = false;
    if (there !== undefined) {
      if (await this.#names.has(session, this.place(folder), name)) return false;
      isItself =
        itself !== undefined && isRespelled(itself, path) && isDeepStrictEqual(there, await orAbsent(session.lstat(this.place(itself))));
      if (!isItself) throw storageError('ENTRY_EXISTS');
    }
    if (!(await isKeptName(session, this.#newPlace(folder), name))) throw storageError('INVALID_ARGUMENT');
    return isItself;
  }

  /** What is missing passes, or not: the server says so. */
  async #isSpelled(session: SftpSession, path: MountPath): Promise<boolean> {
    const names = this.#names;
    if (names === undefined || path === MOUNT_ROOT) return true;
    const folder = parentPath(path);
    try {
      const [isAbove, isHere] = await Promise.all([
        this.#isSpelled(session, folder),
        names.has(session, this.place(folder), baseName(path) ?? ''),
      ]);
      return isAbove && isHere;
    } catch (error) {
      if (isRefusal(error) && error.status !== STATUS.PERMISSION_DENIED) return false;
      throw error;
    }
  }

  /** Undefined when a folder on the way is not there. */
  async #realPathOf(session: SftpSession, place: string): Promise<string | undefined> {
    if (this.realPath === '/') return place;
    return orAbsent(session.realpath(place));
  }

  #check(real: string | undefined): void {
    if (real === undefined || this.realPath === '/') return;
    if (real !== this.realPath && !real.startsWith(`${this.realPath}/`)) throw storageError('PERMISSION_DENIED');
  }
}

/** Whether two paths are the same name of one folder, written otherwise. */
function isRespelled(one: MountPath, other: MountPath): boolean {
  return (
    one !== other && parentPath(one) === parentPath(other) && one.normalize('NFC').toLowerCase() === other.normalize('NFC').toLowerCase()
  );
}

/** Undefined when the server says that there is no such thing. */
export async function orAbsent<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isRefusal(error, STATUS.NO_SUCH_FILE)) return undefined;
    throw error;
  }
}
