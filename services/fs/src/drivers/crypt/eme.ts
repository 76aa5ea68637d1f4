import { type Cipheriv, createCipheriv, createDecipheriv, type Decipheriv } from 'node:crypto';

const BLOCK = 16;
/** The mode takes so many blocks. */
const MAX_BLOCKS = 128;

/** Encrypts short texts so that each bit of the result depends on each bit of the text. Same length out as in. */
export interface Eme {
  /** @param text a multiple of 16 bytes, 2,048 at most */
  encrypt(text: Uint8Array): Buffer;
  decrypt(text: Uint8Array): Buffer;
}

/**
 * ECB-Mix-ECB over AES (Halevi and Rogaway, https://eprint.iacr.org/2003/147), with one tweak for all.
 *
 * @param key 32 bytes. @param tweak 16 bytes
 */
export function createEme(key: Uint8Array, tweak: Uint8Array): Eme {
  const encipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  const decipher = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  const masks = masksOf(encipher);
  return {
    encrypt: (text) => transform(encipher, masks, tweak, text),
    decrypt: (text) => transform(decipher, masks, tweak, text),
  };
}

/** L of the paper, doubled once for each block. */
function masksOf(encipher: Cipheriv): Buffer {
  const masks = Buffer.alloc(MAX_BLOCKS * BLOCK);
  const mask = encipher.update(Buffer.alloc(BLOCK));
  for (let block = 0; block < MAX_BLOCKS; block++) {
    double(mask);
    mask.copy(masks, block * BLOCK);
  }
  return masks;
}

function transform(aes: Cipheriv | Decipheriv, masks: Uint8Array, tweak: Uint8Array, text: Uint8Array): Buffer {
  const { length } = text;
  if (length === 0 || length % BLOCK !== 0 || length > MAX_BLOCKS * BLOCK) throw new RangeError('EME takes 1 to 128 blocks');
  const work = Buffer.alloc(length);
  xorInto(work, text, masks, length);
  const mixed = aes.update(work);
  // MP: all blocks and the tweak together; M: what that becomes, added to.
  const sum = Buffer.from(tweak);
  for (let at = 0; at < length; at += BLOCK)
    for (let index = 0; index < BLOCK; index++) sum[index] = at8(sum, index) ^ at8(mixed, at + index);
  const first = aes.update(sum);
  const mask = Buffer.alloc(BLOCK);
  xorInto(mask, sum, first, BLOCK);
  const total = Buffer.alloc(BLOCK);
  xorInto(total, first, tweak, BLOCK);
  for (let at = BLOCK; at < length; at += BLOCK) {
    double(mask);
    for (let index = 0; index < BLOCK; index++) {
      const byte = at8(mixed, at + index) ^ at8(mask, index);
      mixed[at + index] = byte;
      total[index] = at8(total, index) ^ byte;
    }
  }
  total.copy(mixed, 0);
  const result = aes.update(mixed);
  xorInto(result, result, masks, length);
  return result;
}

/** Multiplies by 2 in GF(2^128), least significant byte first. */
function double(block: Buffer): void {
  const carry = at8(block, BLOCK - 1) >> 7;
  for (let index = BLOCK - 1; index > 0; index--) block[index] = ((at8(block, index) << 1) | (at8(block, index - 1) >> 7)) & 0xff;
  block[0] = ((at8(block, 0) << 1) & 0xff) ^ (carry ? 0x87 : 0);
}

function xorInto(target: Buffer, left: Uint8Array, right: Uint8Array, length: number): void {
  for (let index = 0; index < length; index++) target[index] = at8(left, index) ^ at8(right, index);
}

function at8(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}
