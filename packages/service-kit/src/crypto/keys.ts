import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { Secret } from '../config/secret.ts';

const KEY_BYTES = 32;
/** AES-GCM's standard nonce and tag lengths (NIST SP 800-38D). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED_PREFIX = 'v1.';

/** Independent 256-bit keys of one installation, one per purpose. */
export interface Keys {
  readonly jwt: Buffer;
  readonly internal: Buffer;
  readonly atRest: Buffer;
  /** For digests of secrets that are only ever compared. */
  readonly digest: Buffer;
  /** Tells this installation from others, in hexadecimal. No secret. */
  readonly installation: string;
}

/** HKDF-SHA-256 (RFC 5869) of WHARF_SECRET with the purpose as info. */
export function deriveKeys(secret: Secret): Keys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret.reveal(), '', `wharf/${purpose}/v1`, KEY_BYTES));
  const installation = derive('installation').toString('hex', 0, 16);
  return { jwt: derive('jwt'), internal: derive('internal'), atRest: derive('at-rest'), digest: derive('digest'), installation };
}

/** Encrypts a text for the store: `v1.` and the base64url of nonce, ciphertext and tag (AES-256-GCM). */
export function seal(key: Buffer, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return SEALED_PREFIX + Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
}

/** The text that seal() was given. @throws AppError CONTENT_CORRUPT: another key, or the text was changed. */
export function unseal(key: Buffer, sealed: string): string {
  try {
    if (!sealed.startsWith(SEALED_PREFIX)) throw new Error('not a sealed text');
    const bytes = Buffer.from(sealed.slice(SEALED_PREFIX.length), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new AppError('CONTENT_CORRUPT', 'a stored secret cannot be read: WHARF_SECRET is not the one it was stored under', { cause });
  }
}

/** What is stored of a random secret that is only compared: base64url of its HMAC-SHA-256. Not for passwords, which can be guessed. */
export function keyedDigest(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64url');
}
