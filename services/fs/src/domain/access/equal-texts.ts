import { timingSafeEqual } from 'node:crypto';

/** Compares in a time that depends on the lengths of the texts, not on where they differ. */
export function equalTexts(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}
