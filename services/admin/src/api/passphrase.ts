import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '@wharf/errors';
import { seal, unseal } from '@wharf/service-kit';
import type { EncryptedSecrets } from '../domain/configuration-document.ts';

const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** One of OWASP's choices for scrypt: 32 MiB, three times over, so that guessing is dear. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 } as const;
/** A shorter passphrase can be guessed whatever the cost. */
const MIN_LENGTH = 8;

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt);

/** Encrypts a text under a passphrase (scrypt, AES-256-GCM). @throws AppError INVALID_ARGUMENT: the passphrase is too short */
export async function encryptUnder(passphrase: string, text: string): Promise<EncryptedSecrets> {
  if (passphrase.length < MIN_LENGTH) throw new AppError('INVALID_ARGUMENT', `the passphrase must have ${MIN_LENGTH} characters at least`);
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(passphrase, salt, KEY_BYTES, COST);
  return { kdf: 'scrypt', salt: salt.toString('base64url'), sealed: seal(key, text) };
}

/** @throws AppError INVALID_ARGUMENT: it is another passphrase, or the text was changed */
export async function decryptUnder(passphrase: string, { salt, sealed }: EncryptedSecrets): Promise<string> {
  const key = await derive(passphrase, Buffer.from(salt, 'base64url'), KEY_BYTES, COST);
  try {
    return unseal(key, sealed);
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'the passphrase is wrong', { cause });
  }
}
