import { randomInt } from 'node:crypto';

export const ALPHANUMERICS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Without the characters that are taken for one another: 0 O o, 1 I l i, and the like. */
export const READABLE = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789';

/** Characters of the alphabet, each drawn evenly by the system's random generator. */
export function randomText(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
