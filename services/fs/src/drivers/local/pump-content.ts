import fs from 'node:fs';
import { promisify } from 'node:util';
import type { Gate } from '@wharf/pace';
import { dropBatch, giveBackBatch, takeBatch } from '../../driver-contract/batches.ts';

/** Pieces of that size are written as they are; smaller ones are gathered. */
const BIG_BYTES = 128 * 1024;

const write = promisify(fs.write);

/**
 * Writes content to an open file, from an offset on. While one batch is on its way to the disk, the next is gathered. A piece is not looked at any
 * more when the next one is asked for.
 *
 * @returns the bytes written
 */
export async function pumpContent(fd: number, content: AsyncIterable<Uint8Array>, slots: Gate, offsetBytes = 0): Promise<number> {
  let position = offsetBytes;
  let batch: Buffer | undefined;
  let filledBytes = 0;
  let onItsWay: Promise<void> | undefined;

  const send = async (bytes: Uint8Array) => {
    await onItsWay;
    onItsWay = writeAll(fd, bytes, position, slots);
    // Its failure is met at the next turn.
    onItsWay.catch(() => undefined);
    position += bytes.byteLength;
  };
  const flush = async () => {
    const full = batch;
    if (full === undefined) return;
    const bytes = full.subarray(0, filledBytes);
    batch = undefined;
    filledBytes = 0;
    await send(bytes).catch((error: unknown) => {
      dropBatch(full);
      throw error;
    });
    onItsWay?.finally(() => giveBackBatch(full)).catch(() => undefined);
  };

  try {
    for await (const piece of content) {
      if (piece.byteLength >= BIG_BYTES && filledBytes === 0) {
        await send(piece);
        await onItsWay;
        continue;
      }
      for (let rest = piece; rest.byteLength > 0; ) {
        batch ??= takeBatch();
        const fitting = rest.subarray(0, batch.byteLength - filledBytes);
        batch.set(fitting, filledBytes);
        filledBytes += fitting.byteLength;
        rest = rest.subarray(fitting.byteLength);
        if (filledBytes === batch.byteLength) await flush();
      }
    }
    await flush();
    await onItsWay;
    return position - offsetBytes;
  } finally {
    // The caller closes the handle next.
    await onItsWay?.catch(() => undefined);
    if (batch) giveBackBatch(batch);
  }
}

async function writeAll(fd: number, bytes: Uint8Array, position: number, slots: Gate): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const from = done;
    const { bytesWritten } = await slots.run(() => write(fd, bytes, from, bytes.byteLength - from, position + from));
    done += bytesWritten;
  }
}
