import fs from 'node:fs';
import { HAS_HANDLE_PATHS } from '@wharf/held-folders';
import { storageError } from '../../driver-contract/storage-error.ts';
import { type HeldFolder, openChildFolder } from './confined-root.ts';

/** So many folders of one way are open at a time: handles are the process's, and trees may be deeper than it has of them. */
const MOST_OPEN = 32;

interface Level {
  fd: number;
  prefix: Buffer;
  /** Which folder it is, once its handle has been given back. */
  closed?: { readonly dev: bigint; readonly ino: bigint } | undefined;
}

/**
 * The way from the top of a tree down to one of its folders, each opened in the one above and never through a link. Of a long way the upper folders are
 * let go of, and found again from below on the way back: then they must be the same.
 *
 * All calls block. Errors are those of the system, or AppError.
 */
export class FolderChain {
  readonly #levels: Level[] = [];
  #failure: Error | undefined;

  /** Put a name behind it to act on an entry of the deepest folder; of no folder, a place is named. @throws STALE_VERSION: the folder is elsewhere by now */
  get prefix(): Buffer {
    if (this.#failure) throw this.#failure;
    return this.#levels.at(-1)?.prefix ?? Buffer.alloc(0);
  }

  /** Of the deepest folder. There must be one. */
  get fd(): number {
    const level = this.#levels.at(-1);
    if (this.#failure || level === undefined) throw this.#failure ?? new Error('no folder is open');
    return level.fd;
  }

  /** The place of an entry of the deepest folder. */
  at(name: Buffer): Buffer {
    return Buffer.concat([this.prefix, name]);
  }

  /** Goes down into a folder, and up again when `use` has ended. @param name of the first folder: its place */
  async within<Result>(name: Buffer, use: () => Promise<Result>): Promise<Result> {
    this.#levels.push(openChildFolder(this.at(name)));
    try {
      if (HAS_HANDLE_PATHS) this.#letGo(this.#levels.at(-1 - MOST_OPEN));
      return await use();
    } finally {
      this.#leave();
    }
  }

  #letGo(level: Level | undefined): void {
    if (level === undefined || level.closed !== undefined) return;
    const { dev, ino } = fs.fstatSync(level.fd, { bigint: true });
    level.closed = { dev, ino };
    fs.closeSync(level.fd);
  }

  #leave(): void {
    const left = this.#levels.pop();
    if (left === undefined || left.closed !== undefined) return;
    const above = this.#levels.at(-1);
    if (above?.closed !== undefined && this.#failure === undefined) {
      try {
        reopen(above, above.closed, left);
      } catch (error) {
        this.#failure = storageError('STALE_VERSION', error);
      }
    }
    fs.closeSync(left.fd);
  }
}

/** @throws the error of the system; an Error where the folder was moved meanwhile */
function reopen(above: Level, was: { readonly dev: bigint; readonly ino: bigint }, from: Level): void {
  const parent = openChildFolder(Buffer.concat([from.prefix, Buffer.from('..')]));
  try {
    const { dev, ino } = fs.fstatSync(parent.fd, { bigint: true });
    if (dev !== was.dev || ino !== was.ino) throw new Error('the folder was moved');
  } catch (error) {
    fs.closeSync(parent.fd);
    throw error;
  }
  Object.assign(above, parent, { closed: undefined });
}

/** The folder that is held as a place to begin at: the path of a handle would be a link, which is not followed. */
export function heldPlace({ prefix }: HeldFolder): Buffer {
  return Buffer.from(`${prefix}.`);
}
