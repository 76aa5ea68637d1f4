import { type MountPath, parentPath } from '@wharf/paths';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { RemoteAttrs, SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';

/** What is at a place, past links. */
export interface Seen {
  /** Of the target, where the place is a link. */
  readonly attrs: RemoteAttrs;
  readonly isLink: boolean;
  /** A link that leads nowhere: it counts as an empty file. */
  readonly isBroken: boolean;
}

/** The folder of the server that is the storage. What links lead out of it is never touched. */
export class RemoteRoot {
  /** Without links, as the server says it. */
  readonly realPath: string;

  constructor(realPath: string) {
    this.realPath = realPath;
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
    const place = this.place(path);
    const [real, attrs] = await Promise.all([this.#realPathOf(session, place), orAbsent(session.lstat(place))]);
    this.#check(real);
    if (attrs === undefined) return undefined;
    if (attrs.kind !== 'link') return real === undefined ? undefined : { attrs, isLink: false, isBroken: false };
    const target = real === undefined ? undefined : await orAbsent(session.stat(place));
    if (target === undefined) return { attrs: { ...attrs, kind: 'file', sizeBytes: 0 }, isLink: true, isBroken: true };
    return { attrs: target, isLink: true, isBroken: false };
  }

  /** The entry itself, also where it is a link. @throws AppError PERMISSION_DENIED when its folder is not below the root */
  async lookAtEntry(session: SftpSession, path: MountPath): Promise<RemoteAttrs | undefined> {
    const [real, attrs] = await Promise.all([
      this.#realPathOf(session, this.place(parentPath(path))),
      orAbsent(session.lstat(this.place(path))),
    ]);
    this.#check(real);
    return real === undefined ? undefined : attrs;
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

/** Undefined when the server says that there is no such thing. */
export async function orAbsent<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isRefusal(error, STATUS.NO_SUCH_FILE)) return undefined;
    throw error;
  }
}
