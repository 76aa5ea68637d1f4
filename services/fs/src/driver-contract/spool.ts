import { type FileHandle, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { createDiskRoom, type DiskRoom } from './disk-room.ts';
import { hasNoSpace } from './own-folder.ts';
import type { CallOptions } from './storage-driver.ts';
import { abortable } from './verified-content.ts';

/** What all contents of this process may take at once that wait for their size to be known, in bytes. */
const SPOOL_BYTES = 8 * 1024 ** 3;
const CHUNK_BYTES = 256 * 1024;
/** Whom contents are of that nobody sends: all tasks. */
const NOBODY = '';
/** Shares of one caller, and of all tasks, which may come ever so slowly. */
const [OWN_SHARE, TASKS_SHARE] = [1 / 2, 3 / 4];

/** The disk of each folder: all that waits there at a time fills one. */
const rooms = new Map<string, DiskRoom>();
let spooledBytes = 0;
/** The same by who sends them. */
const bytesOf = new Map<string, number>();

function note(caller: string, bytes: number): void {
  spooledBytes += bytes;
  const own = (bytesOf.get(caller) ?? 0) + bytes;
  if (own > 0) bytesOf.set(caller, own);
  else bytesOf.delete(caller);
}

/** A content that is all there. */
export interface Spooled {
  readonly sizeBytes: number;
  /** To be iterated once. A chunk is only lent. */
  readonly content: AsyncIterable<Uint8Array>;
  /** Gives the room back. Safe twice. */
  end(): Promise<void>;
}

export interface SpoolOptions extends CallOptions {
  /** Made where it is missing. */
  readonly folder?: string | undefined;
  readonly limitBytes?: number;
}

/**
 * Takes a content in, in a file without a name, so that its size is known: for storages that must be told beforehand. One caller has half of the
 * room, all tasks three quarters.
 *
 * @param options.folder the system's folder for temporary files by default
 * @throws AppError QUOTA_EXCEEDED: there is no room for it; with a size it would need none. What `content` throws
 */
export async function spool(
  content: AsyncIterable<Uint8Array>,
  { signal, caller = NOBODY, folder = tmpdir(), limitBytes = SPOOL_BYTES }: SpoolOptions = {},
): Promise<Spooled> {
  const shareBytes = limitBytes * (caller === NOBODY ? TASKS_SHARE : OWN_SHARE);
  const file = await openUnnamed(folder);
  const room = rooms.get(folder) ?? createDiskRoom(folder, { refusal: noRoom });
  rooms.set(folder, room);
  let sizeBytes = 0;
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    note(caller, -sizeBytes);
    await file.close();
  };
  try {
    for await (const chunk of abortable(content, signal)) {
      const { byteLength } = chunk;
      if (spooledBytes + byteLength > limitBytes || (bytesOf.get(caller) ?? 0) + byteLength > shareBytes) throw noRoom();
      note(caller, byteLength);
      sizeBytes += byteLength;
      await room.take(byteLength);
      await file.writeFile(chunk);
    }
    return { sizeBytes, content: chunksOf(file, sizeBytes), end };
  } catch (error) {
    await end();
    throw hasNoSpace(error) ? noRoom(error) : error;
  }
}

function noRoom(cause?: unknown): AppError {
  return new AppError('QUOTA_EXCEEDED', 'the storage must be told the size beforehand, and there is no room to find it out', { cause });
}

/** Nothing of it is left when the process ends. */
async function openUnnamed(parent: string): Promise<FileHandle> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, 'wharf-spool-'));
  try {
    return await open(join(folder, 'content'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* chunksOf(file: FileHandle, sizeBytes: number): AsyncGenerator<Uint8Array, void> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, sizeBytes)));
  for (let at = 0; at < sizeBytes; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) throw new AppError('INTERNAL', 'what was taken in is gone');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
