import { randomInt, randomUUID } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const TAIL_CHARS = 64;

/** A fresh text in the form of a permanent token: `wharf-`, a UUID and 64 letters and digits. */
export function randomToken(): string {
  const tail = Array.from({ length: TAIL_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `wharf-${randomUUID()}${tail}`;
}
