import { createCipheriv, createHash } from 'node:crypto';
import type { Transfer } from './http.ts';

const CHUNK_BYTES = 256 * 1024;

/** Bytes that look random, are cheap to make and the same for the same seed, in chunks of 256 KiB. */
export function* generateContent(seed: string, sizeBytes: number): Generator<Uint8Array> {
  const key = createHash('sha256').update(seed).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  const zeros = Buffer.alloc(CHUNK_BYTES);
  for (let left = sizeBytes; left > 0; left -= CHUNK_BYTES) yield stream.update(left < CHUNK_BYTES ? zeros.subarray(0, left) : zeros);
}

/** Size and digest of what `generateContent` makes of the same arguments. */
export function describeContent(seed: string, sizeBytes: number): Transfer {
  const hash = createHash('sha256');
  for (const chunk of generateContent(seed, sizeBytes)) hash.update(chunk);
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Content in pieces of these sizes, over and over, in one buffer: whoever keeps a piece until the next one finds something else in it. */
export async function* lendPieces(content: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array, void> {
  const buffer = Buffer.alloc(Math.max(...sizes));
  for (let at = 0, turn = 0; at < content.byteLength; turn++) {
    const piece = content.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    buffer.set(piece);
    yield buffer.subarray(0, piece.byteLength);
    buffer.fill(0xee);
    at += piece.byteLength;
  }
}
