import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { abortable } from './verified-content.ts';

/** What all contents of this process may take at once that wait for their size to be known, in bytes. */
const SPOOL_BYTES = 8 * 1024 ** 3;
const CHUNK_BYTES = 256 * 1024;

let spooledBytes = 0;

/** A content that is all there. */
export interface Spooled {
  readonly sizeBytes: number;
  /** To be iterated once. A chunk is only lent. */
  readonly content: AsyncIterable<Uint8Array>;
  /** Gives the room back. Safe twice. */
  end(): Promise<void>;
}

/**
 * Takes a content in, in a file without a name, so that its size is known: for storages that must be told beforehand.
 *
 * @throws AppError QUOTA_EXCEEDED: there is no room for it; with a size it would need none. What `content` throws
 */
export async function spool(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  limitBytes = SPOOL_BYTES,
): Promise<Spooled> {
  const file = await openUnnamed();
  let sizeBytes = 0;
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    spooledBytes -= sizeBytes;
    await file.close();
  };
  try {
    for await (const chunk of abortable(content, signal)) {
      if (spooledBytes + chunk.byteLength > limitBytes)
        throw new AppError('QUOTA_EXCEEDED', 'the storage must be told the size beforehand, and there is no room to find it out');
      spooledBytes += chunk.byteLength;
      sizeBytes += chunk.byteLength;
      await file.writeFile(chunk);
    }
    return { sizeBytes, content: chunksOf(file, sizeBytes), end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Nothing of it is left when the process ends. */
async function openUnnamed(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-spool-'));
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
