import { randomBytes } from 'node:crypto';
import { takeBatchRoom } from '../../driver-contract/batches.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { CIPHERS } from './cipher-pool.ts';
import { BLOCK_BYTES, HEADER_BYTES, MAGIC, NONCE_BYTES, SEALED_BLOCK_BYTES } from './format.ts';
import type { CipherTask } from './run-task.ts';

/** How a transfer goes to the threads: so many blocks together, and so many of these under way. With the one that its reader has they are a MiB at most. */
const QUICK = { blocks: 4, ahead: 3 } as const;
/** Where others have all the room for that: whoever takes nothing holds it for minutes. */
const SMALL = { blocks: 1, ahead: 1 } as const;

/** Content as it is stored. The memory of a piece of `content` is not used once the next one is asked for. */
export async function* sealed(content: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array, void> {
  const nonce = Uint8Array.from(randomBytes(NONCE_BYTES));
  yield Buffer.concat([MAGIC, nonce]);
  yield* throughThreads(content, { seals: true, key, nonce, firstBlock: 0 });
}

export interface OpenedOptions extends CallOptions {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  /** Of what is opened. */
  readonly firstBlock: number;
  /** Of the first block, that are left out. */
  readonly skipBytes: number;
  /** After those: undefined for all. */
  readonly lengthBytes: number | undefined;
}

/** The clear text of stored blocks. @throws AppError CONTENT_CORRUPT: a block is not what was sealed */
export async function* opened(blocks: AsyncIterable<Uint8Array>, options: OpenedOptions): AsyncGenerator<Uint8Array, void> {
  const { key, nonce, firstBlock, signal } = options;
  let { skipBytes: skip, lengthBytes: missing = Number.POSITIVE_INFINITY } = options;
  for await (const bytes of throughThreads(blocks, { seals: false, key, nonce, firstBlock })) {
    throwIfAborted(signal);
    const piece = bytes.subarray(skip, Math.min(bytes.byteLength, skip + missing));
    skip = 0;
    missing -= piece.byteLength;
    if (piece.byteLength > 0) yield piece;
    if (missing === 0) return;
  }
}

/** What follows the header of a stored file. */
export interface AfterHeader {
  readonly nonce: Uint8Array;
  readonly rest: AsyncGenerator<Uint8Array, void>;
  /** Lets go of the content, whether the rest was begun or not. */
  leave(): Promise<void>;
}

/** Takes the header off. @throws AppError CONTENT_CORRUPT: it is none of ours; the content is let go of */
export async function splitHeader(content: AsyncIterable<Uint8Array>): Promise<AfterHeader> {
  const pieces = content[Symbol.asyncIterator]();
  const header = Buffer.alloc(HEADER_BYTES);
  let length = 0;
  let left: Uint8Array = new Uint8Array();
  while (length < HEADER_BYTES) {
    const step = await pieces.next();
    if (step.done === true) throw storageError('CONTENT_CORRUPT');
    const taken = Math.min(HEADER_BYTES - length, step.value.byteLength);
    header.set(step.value.subarray(0, taken), length);
    length += taken;
    left = step.value.subarray(taken);
  }
  const leave = async () => void (await pieces.return?.());
  if (!header.subarray(0, MAGIC.byteLength).equals(MAGIC)) {
    await leave();
    throw storageError('CONTENT_CORRUPT');
  }
  return { nonce: Uint8Array.from(header.subarray(MAGIC.byteLength)), rest: restOf(left, pieces), leave };
}

async function* restOf(first: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    if (first.byteLength > 0) yield first;
    for (let step = await pieces.next(); step.done !== true; step = await pieces.next()) yield step.value;
  } finally {
    await pieces.return?.();
  }
}

/** @param first of the blocks */
async function* throughThreads(content: AsyncIterable<Uint8Array>, first: Omit<CipherTask, 'bytes'>): AsyncGenerator<Uint8Array, void> {
  const leave = takeBatchRoom();
  try {
    const { blocks, ahead } = leave ? QUICK : SMALL;
    let { firstBlock } = first;
    const batches = batchesOf(content, blocks * (first.seals ? BLOCK_BYTES : SEALED_BLOCK_BYTES));
    yield* inOrder(batches, ahead, (bytes) => {
      const task = { ...first, firstBlock, bytes };
      firstBlock += blocks;
      return CIPHERS.run(task);
    });
  } finally {
    leave?.();
  }
}

/** The same bytes in memory of their own, in batches of so many; the last one has what is left. */
async function* batchesOf(content: AsyncIterable<Uint8Array>, batchBytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let batch = new Uint8Array(batchBytes);
  let length = 0;
  for await (const piece of content) {
    for (let at = 0; at < piece.byteLength; ) {
      const part = piece.subarray(at, at + batch.byteLength - length);
      batch.set(part, length);
      length += part.byteLength;
      at += part.byteLength;
      if (length < batch.byteLength) continue;
      yield batch;
      batch = new Uint8Array(batchBytes);
      length = 0;
    }
  }
  if (length > 0) yield batch.slice(0, length);
}

/** Works on some items ahead; results come in the order of the items. */
async function* inOrder<Item, Result>(
  items: AsyncGenerator<Item, void>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const underWay: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      // It is waited for in its turn, or nobody asks for it any more.
      result.catch(() => undefined);
      underWay.push(result);
      if (underWay.length >= ahead) yield (await underWay.shift()) as Result;
    }
    while (underWay.length > 0) yield (await underWay.shift()) as Result;
  } finally {
    await items.return();
  }
}
