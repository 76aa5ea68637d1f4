import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/** All that is made of the two passwords. */
export interface CryptKeys {
  /** 32 bytes. */
  readonly data: Uint8Array;
  /** 32 bytes. */
  readonly name: Buffer;
  /** 16 bytes. */
  readonly tweak: Buffer;
}

/** Of files that were encrypted without a second password. */
const DEFAULT_SALT = Buffer.from('a80df43a8fbd0308a7cab83e581f86b1', 'hex');
const KEY_BYTES = 32 + 32 + 16;
const COST = { N: 16_384, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

const derive = promisify<string, Uint8Array, number, typeof COST, Buffer>(scrypt);

/** https://rclone.org/crypt/#key-derivation; takes some 50 ms of another thread. */
export async function deriveKeys(password: string, salt: string): Promise<CryptKeys> {
  const bytes = await derive(password, salt === '' ? DEFAULT_SALT : Buffer.from(salt), KEY_BYTES, COST);
  return { data: Uint8Array.from(bytes.subarray(0, 32)), name: bytes.subarray(32, 64), tweak: bytes.subarray(64) };
}
