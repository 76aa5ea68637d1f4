// A file: 8 bytes that say what it is, a nonce of 24 bytes, then blocks. A block: a tag of 16 bytes and up to 64 KiB. Each block has the nonce of
// the one before plus one, least significant byte first. An empty file has no block.

export const MAGIC = Buffer.from('RCLONE\0\0');
export const NONCE_BYTES = 24;
export const HEADER_BYTES = MAGIC.byteLength + NONCE_BYTES;
export const TAG_BYTES = 16;
export const BLOCK_BYTES = 64 * 1024;
export const SEALED_BLOCK_BYTES = TAG_BYTES + BLOCK_BYTES;

export function sealedSize(sizeBytes: number): number {
  return HEADER_BYTES + sizeBytes + Math.ceil(sizeBytes / BLOCK_BYTES) * TAG_BYTES;
}

/** Undefined: no encrypted file has this size. */
export function openedSize(sealedBytes: number): number | undefined {
  const content = sealedBytes - HEADER_BYTES;
  if (content < 0) return undefined;
  const last = content % SEALED_BLOCK_BYTES;
  if (last > 0 && last <= TAG_BYTES) return undefined;
  return content - Math.ceil(content / SEALED_BLOCK_BYTES) * TAG_BYTES;
}

/** The nonce of a block. @param block 0-based, below 2^53 */
export function nonceOf(first: Uint8Array, block: number): Uint8Array {
  const nonce = Uint8Array.from(first);
  let carry = block;
  for (let index = 0; index < nonce.length && carry > 0; index++) {
    carry += nonce[index] ?? 0;
    nonce[index] = carry % 256;
    carry = Math.floor(carry / 256);
  }
  return nonce;
}
