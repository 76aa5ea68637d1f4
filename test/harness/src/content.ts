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
