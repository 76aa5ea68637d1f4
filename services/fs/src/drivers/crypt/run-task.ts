import sodium from 'libsodium-wrappers';
import { BLOCK_BYTES, nonceOf, SEALED_BLOCK_BYTES, TAG_BYTES } from './format.ts';

/** Blocks that follow each other in one file, each but the last of them whole. */
export interface CipherTask {
  /** False: opens what was sealed. */
  readonly seals: boolean;
  readonly key: Uint8Array;
  /** Of the file's first block. */
  readonly nonce: Uint8Array;
  readonly firstBlock: number;
  /** Given away: the caller does not use the memory again. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

// Of each thread. WebAssembly is compiled in some milliseconds.
await sodium.ready;

/** Undefined: a block is not what was sealed. */
export function runTask({ seals, key, nonce, firstBlock, bytes }: CipherTask): Uint8Array<ArrayBuffer> | undefined {
  const [from, to] = seals ? [BLOCK_BYTES, SEALED_BLOCK_BYTES] : [SEALED_BLOCK_BYTES, BLOCK_BYTES];
  const blocks = Math.ceil(bytes.byteLength / from);
  // What is shorter than a tag is not what was sealed.
  const result = new Uint8Array(Math.max(0, bytes.byteLength + (seals ? blocks : -blocks) * TAG_BYTES));
  for (let block = 0; block < blocks; block++) {
    const own = nonceOf(nonce, firstBlock + block);
    const piece = bytes.subarray(block * from, (block + 1) * from);
    try {
      result.set(seals ? sodium.crypto_secretbox_easy(piece, own, key) : sodium.crypto_secretbox_open_easy(piece, own, key), block * to);
    } catch {
      return undefined;
    }
  }
  return result;
}
