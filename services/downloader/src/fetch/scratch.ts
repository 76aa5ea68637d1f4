import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import type { Digests } from './digests.ts';
import type { FileSink } from './transfer.ts';

/** Chunks from a socket are small: so many bytes are written at once. */
const BATCH_BYTES = 1024 * 1024;
/** Ids are made here and come back from the store. */
const ID = /^[0-9a-f]{32}$/;

/** A file that waits in the scratch folder. */
export interface ScratchFile {
  readonly id: string;
  readonly sink: FileSink;
  /** @throws AppError CONTENT_CORRUPT */
  verify(file: { readonly sizeBytes: number; readonly digests: Digests }): Promise<void>;
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
  /** Safe twice. */
  remove(): Promise<void>;
}

/** A folder for files whose storage takes only whole ones. */
export interface Scratch {
  /** @throws AppError QUOTA_EXCEEDED, telling what is needed and what is free, when the file would not fit beside those that are begun */
  begin(sizeBytes: number | undefined): Promise<ScratchFile>;
  /** Undefined when the file is not (or no longer) in this folder. */
  resume(id: string): Promise<ScratchFile | undefined>;
}

/** @param options.dir made when it is missing. @param options.maxBytes for all files together; 0: what the disk has. */
export function createScratch(options: { readonly dir: string; readonly maxBytes: number }): Scratch {
  const { dir, maxBytes } = options;
  /** Bytes that files of this process will still need. */
  const promised = new Map<string, number>();

  const requireRoom = async (sizeBytes: number): Promise<void> => {
    const taken = [...promised.values()].reduce((sum, bytes) => sum + bytes, 0);
    const disk = await fs.statfs(dir);
    const onDisk = disk.bavail * disk.bsize;
    const free = Math.max(0, (maxBytes > 0 ? Math.min(onDisk, maxBytes) : onDisk) - taken);
    if (sizeBytes > free)
      throw new AppError('QUOTA_EXCEEDED', `needs ${showBytes(sizeBytes)}, ${showBytes(free)} free in the scratch folder`);
  };
  const open = async (id: string, flags: string): Promise<ScratchFile> => {
    const path = join(dir, id);
    const handle = await fs.open(path, flags, 0o600);
    return scratchFile(id, path, handle, () => promised.delete(id));
  };

  return {
    async begin(sizeBytes) {
      await fs.mkdir(dir, { recursive: true, mode: 0o700 });
      await requireRoom(sizeBytes ?? 0);
      const id = randomBytes(16).toString('hex');
      promised.set(id, sizeBytes ?? 0);
      return open(id, 'wx+');
    },
    async resume(id) {
      if (!ID.test(id)) return undefined;
      try {
        return await open(id, 'r+');
      } catch {
        return undefined;
      }
    },
  };
}

function scratchFile(id: string, path: string, handle: FileHandle, onGone: () => void): ScratchFile {
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await handle.close();
  };
  return {
    id,
    sink: { write: (offset, content) => writeAt(handle, offset, content), sync: () => handle.datasync() },
    async verify({ sizeBytes, digests }) {
      if ((await handle.stat()).size !== sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the file does not have the announced size');
      for (const [algorithm, expected] of Object.entries(digests)) {
        const hash = createHash(algorithm);
        for await (const chunk of createReadStream(path)) hash.update(chunk);
        if (hash.digest('hex') !== expected)
          throw new AppError('CONTENT_CORRUPT', `the file does not have the announced ${algorithm} digest`);
      }
    },
    read: () => createReadStream(path, { highWaterMark: BATCH_BYTES }),
    close,
    async remove() {
      await close();
      await fs.rm(path, { force: true });
      onGone();
    },
  };
}

async function writeAt(handle: FileHandle, offsetBytes: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  let position = offsetBytes;
  let batch: Uint8Array[] = [];
  let batchBytes = 0;
  const flush = async () => {
    const bytes = Buffer.concat(batch);
    batch = [];
    batchBytes = 0;
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position);
      at += bytesWritten;
      position += bytesWritten;
    }
  };
  for await (const chunk of content) {
    batch.push(chunk);
    batchBytes += chunk.byteLength;
    if (batchBytes >= BATCH_BYTES) await flush();
  }
  await flush();
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** For people: `12 GB`. */
export function showBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toPrecision(2))} ${UNITS[unit] ?? ''}`;
}
