import { randomUUID } from 'node:crypto';
import { constants, type Dirent, type Stats } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { HAS_HANDLE_PATHS, handlePath, O_PATH } from './handle-path.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
/** So many folders are held at a time: each level of a tree takes two handles of the process. */
const MAX_DEPTH = 128;
/** So often a folder is gone through for what came up into it: some tool may make folders faster than they go. */
const MAX_PASSES = 1_000;
/** How often a folder is read again because entries appeared or were exchanged while it was emptied. */
const MAX_ROUNDS = 10;

/** The types of Node know no names that are bytes here; those of `readdir` do. */
const OPEN_AS_BYTES = { encoding: 'buffer' as BufferEncoding, bufferSize: 256 };

/** A name on the disk; bytes, where it need not be UTF-8. */
type DiskName = string | Buffer;

/**
 * An open folder, which stays the same one when its name is given to something else. Every method takes a name in exactly this folder and
 * follows no link. When another process exchanges an entry for a link meanwhile, the method fails, or at worst acts on another entry of
 * this folder.
 *
 * Errors are those of the system; {@link isMissing} and {@link isNoFolder} tell the two that callers meet.
 */
export interface HeldFolder {
  /** What is in it, a link as a link, in no order. @param most of a folder that has more, only some so many are read */
  entries(most?: number): Promise<Dirent<Buffer>[]>;
  /** What an entry is; a link is one itself. */
  stat(name: DiskName): Promise<Stats>;
  /** @throws ENOENT | ENOTDIR, ELOOP: it is no folder, or a link */
  openFolder(name: DiskName): Promise<HeldFolder>;
  /** Opens a folder, made where there is nothing of its name. @throws ENOTDIR, ELOOP: it is no folder, or a link */
  makeFolder(name: DiskName): Promise<HeldFolder>;
  /** Opens a regular file for reading. @throws ENOENT | EACCES | EINVAL, ELOOP: it is none, or a link */
  openFile(name: DiskName): Promise<FileHandle>;
  /** @throws EEXIST, also for a link */
  writeFile(name: DiskName, content: Uint8Array): Promise<void>;
  /** Removes an entry with all it holds, however deep, a link itself. Nothing there is success. @throws ENAMETOOLONG: it does not end */
  remove(name: DiskName): Promise<void>;
  /** @throws ENOENT | ENOTEMPTY | ENOTDIR, also for a link */
  removeEmptyFolder(name: DiskName): Promise<void>;
  close(): Promise<void>;
}

/** Holds a folder whose path nobody exchanges: links on the way are followed. @throws ENOENT | ENOTDIR */
export function holdFolder(path: string): Promise<HeldFolder> {
  return open(Buffer.from(path), 0, undefined);
}

/** Nothing has the name. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** What has the name is a link, or no folder. */
export function isNoFolder(error: unknown): boolean {
  return codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP';
}

/** @param parent where `path` lies, if that is held */
async function open(path: Buffer, flags: number, parent: OpenFolder | undefined): Promise<OpenFolder> {
  const handle = await fs.open(path, (HAS_HANDLE_PATHS ? O_PATH : O_RDONLY) | O_DIRECTORY | flags);
  const folder = new OpenFolder(handle, path, (parent?.depth ?? 0) + 1);
  try {
    await parent?.recheck();
    return folder;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class OpenFolder implements HeldFolder {
  /** How many folders are held to get here. */
  readonly depth: number;
  /** Folders came up into this one, to be removed with it. */
  #hasLifted = false;
  readonly #handle: FileHandle;
  /** Where it was opened. */
  readonly #path: Buffer;
  readonly #prefix: Buffer;

  constructor(handle: FileHandle, path: Buffer, depth: number) {
    this.#handle = handle;
    this.#path = path;
    this.depth = depth;
    this.#prefix = HAS_HANDLE_PATHS ? Buffer.from(`${handlePath(handle.fd)}/`) : Buffer.concat([path, Buffer.from('/')]);
  }

  async entries(most = Number.POSITIVE_INFINITY): Promise<Dirent<Buffer>[]> {
    return this.#checked(readSome(this.#prefix, most));
  }

  /** What is in it, some names at a time, however much that is: what has come may go meanwhile. */
  async *#names(): AsyncGenerator<Buffer> {
    const entries = await this.#checked(openEntries(this.#prefix));
    for await (const { name } of entries) yield name;
  }

  async stat(name: DiskName): Promise<Stats> {
    return this.#checked(fs.lstat(this.#place(name)));
  }

  openFolder(name: DiskName): Promise<OpenFolder> {
    return open(this.#place(name), O_NOFOLLOW, this);
  }

  async makeFolder(name: DiskName): Promise<HeldFolder> {
    await this.recheck();
    await fs.mkdir(this.#place(name)).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    return this.openFolder(name);
  }

  async openFile(name: DiskName): Promise<FileHandle> {
    const place = this.#place(name);
    // To open a pipe waits and to open a device may act on it: first what is there is held, then exactly that is opened.
    const held = HAS_HANDLE_PATHS ? await fs.open(place, O_PATH | O_NOFOLLOW) : undefined;
    try {
      requireFile(held ? await held.stat() : await fs.lstat(place));
      const handle = await fs.open(held ? handlePath(held.fd) : place, O_RDONLY | O_NONBLOCK | O_NOCTTY | (held ? 0 : O_NOFOLLOW));
      try {
        requireFile(await handle.stat());
        return await this.#checked(Promise.resolve(handle));
      } catch (error) {
        await handle.close();
        throw error;
      }
    } finally {
      await held?.close();
    }
  }

  async writeFile(name: DiskName, content: Uint8Array): Promise<void> {
    await this.recheck();
    await fs.writeFile(this.#place(name), content, { flag: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW });
  }

  async remove(name: DiskName): Promise<void> {
    await this.#removeBelow(undefined, name);
  }

  /** @param top the folder that is removed with all it holds, where that is not the entry itself */
  async #removeBelow(top: OpenFolder | undefined, name: DiskName): Promise<void> {
    for (let round = 1; ; round++) {
      const folder = await this.#openOrUnlink(name, top);
      if (!folder) return;
      try {
        for (let pass = 1; ; pass++) {
          folder.#hasLifted = false;
          for await (const name of folder.#names()) await folder.#removeBelow(top ?? folder, name);
          if (!folder.#hasLifted) break;
          if (pass === MAX_PASSES) throw refusal('ENAMETOOLONG', 'the folders are too deep to be removed');
        }
      } finally {
        await folder.close();
      }
      try {
        return await this.removeEmptyFolder(name);
      } catch (error) {
        if (isMissing(error)) return;
        if (!mayHaveChanged(error) || round === MAX_ROUNDS) throw error;
      }
    }
  }

  async removeEmptyFolder(name: DiskName): Promise<void> {
    await this.recheck();
    await fs.rmdir(this.#place(name));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Where there are no paths of handles: @throws ELOOP when the folder is no longer where it was */
  async recheck(): Promise<void> {
    if (HAS_HANDLE_PATHS) return;
    const [held, there] = await Promise.all([this.#handle.stat(), fs.lstat(this.#path)]);
    if (held.ino !== there.ino || held.dev !== there.dev) throw refusal('ELOOP', 'the folder was exchanged');
  }

  /** Opens a folder; whatever else has the name is removed, and nothing is left to do then. A folder that is too deep comes into `top` instead. */
  async #openOrUnlink(name: DiskName, top: OpenFolder | undefined): Promise<OpenFolder | undefined> {
    for (let round = 1; ; round++) {
      try {
        if ((await this.stat(name)).isDirectory()) {
          if (this.depth < MAX_DEPTH || top === undefined || top === this) return await this.openFolder(name);
          await this.#lift(name, top);
          return undefined;
        }
        await this.recheck();
        return await fs.unlink(this.#place(name)).then(() => undefined);
      } catch (error) {
        if (isMissing(error)) return undefined;
        if (!mayHaveChanged(error) || round === MAX_ROUNDS) throw error;
      }
    }
  }

  async #lift(name: DiskName, top: OpenFolder): Promise<void> {
    await Promise.all([this.recheck(), top.recheck()]);
    await fs.rename(this.#place(name), top.#place(`.removed-${randomUUID()}`));
    top.#hasLifted = true;
  }

  async #checked<Result>(result: Promise<Result>): Promise<Result> {
    const value = await result;
    await this.recheck();
    return value;
  }

  /** A name is one segment; what is none would lead elsewhere. */
  #place(name: DiskName): Buffer {
    const bytes = Buffer.from(name);
    if (['', '.', '..'].includes(bytes.toString('latin1')) || bytes.includes('/') || bytes.includes(0))
      throw refusal('EINVAL', 'a name is expected');
    return Buffer.concat([this.#prefix, bytes]);
  }
}

/** Others have their turn between two pieces, however many there are. */
async function readSome(path: Buffer, most: number): Promise<Dirent<Buffer>[]> {
  const found: Dirent<Buffer>[] = [];
  for await (const entry of await openEntries(path)) {
    if (found.length >= most) break;
    found.push(entry);
  }
  return found;
}

async function openEntries(path: Buffer): Promise<AsyncIterable<Dirent<Buffer>>> {
  return (await fs.opendir(path, OPEN_AS_BYTES)) as unknown as AsyncIterable<Dirent<Buffer>>;
}

/** Whether an error says that the folder has changed since it was read: a new entry came, or an entry became a folder or a link. */
function mayHaveChanged(error: unknown): boolean {
  return isNoFolder(error) || ['ENOTEMPTY', 'EEXIST', 'EISDIR', 'EPERM'].includes(codeOf(error) ?? '');
}

function requireFile(stats: Stats): void {
  if (!stats.isFile()) throw refusal('EINVAL', 'no regular file');
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
