import fs from 'node:fs';
import { promisify } from 'node:util';
import type { IoSlots } from './io-slots.ts';

/** Chunks from a socket are small: so many bytes are written at once. At most twice as many wait here. */
const BATCH_BYTES = 1024 * 1024;

const writeBatch = promisify(fs.writev);

/**
 * Writes content to an open file, from an offset on. While one batch is on its way to the disk, the next is taken in.
 *
 * @returns the bytes written
 */
export async function pumpContent(fd: number, content: AsyncIterable<Uint8Array>, slots: IoSlots, offsetBytes = 0): Promise<number> {
  let position = offsetBytes;
  let batch: Uint8Array[] = [];
  let batchBytes = 0;
  let onItsWay: Promise<void> | undefined;

  const send = async () => {
    await onItsWay;
    onItsWay = writeAll(fd, batch, position, slots);
    // Its failure is met at the next turn.
    onItsWay.catch(() => undefined);
    position += batchBytes;
    batch = [];
    batchBytes = 0;
  };

  try {
    for await (const chunk of content) {
      batch.push(chunk);
      batchBytes += chunk.byteLength;
      if (batchBytes >= BATCH_BYTES) await send();
    }
    if (batchBytes > 0) await send();
    await onItsWay;
    return position - offsetBytes;
  } finally {
    // The caller closes the handle next.
    await onItsWay?.catch(() => undefined);
  }
}

async function writeAll(fd: number, batch: Uint8Array[], position: number, slots: IoSlots): Promise<void> {
  let rest = batch;
  let at = position;
  while (rest.length > 0) {
    const [pending, offset] = [rest, at];
    const writtenBytes = await slots.run(() => writeOnce(fd, pending, offset));
    at += writtenBytes;
    rest = without(rest, writtenBytes);
  }
}

async function writeOnce(fd: number, batch: Uint8Array[], position: number): Promise<number> {
  const { bytesWritten } = await writeBatch(fd, batch, position);
  return bytesWritten;
}

/** What is left of a batch after its first bytes were written. */
function without(batch: Uint8Array[], writtenBytes: number): Uint8Array[] {
  let skip = writtenBytes;
  const first = batch.findIndex((chunk) => {
    if (skip < chunk.byteLength) return true;
    skip -= chunk.byteLength;
    return false;
  });
  const [head, ...tail] = first === -1 ? [] : batch.slice(first);
  return head === undefined ? [] : [head.subarray(skip), ...tail];
}
