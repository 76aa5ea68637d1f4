import { hash, verify } from '@node-rs/argon2';
import type { SlowHash } from '../domain/passwords.ts';

/**
 * OWASP's minimum for argon2id: 19 MiB of memory, two passes, one lane (Password Storage Cheat Sheet,
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id). Memory is in KiB.
 */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** argon2id, the library's default variant, off the main thread. */
export const argon2id: SlowHash = {
  hash: (text) => hash(text, PARAMETERS),
  verify: (stored, text) => verify(stored, text),
};
