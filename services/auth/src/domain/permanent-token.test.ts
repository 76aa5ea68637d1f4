import { expect, it } from 'vitest';
import { makePermanentToken, parsePermanentToken } from './permanent-token.ts';

it('a fresh token has the fixed form, fits its own rules and is never the same', () => {
  const tokens = Array.from({ length: 100 }, makePermanentToken);
  for (const token of tokens) {
    expect(token).toMatch(/^wharf-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[A-Za-z0-9]{64}$/);
    expect(parsePermanentToken(token)).toBe(token);
  }
  expect(new Set(tokens).size).toBe(tokens.length);
});

it('a fresh token holds more than 256 bits that nobody can foresee (C12): at no place is a character likelier than another', () => {
  const draws = 12_000;
  const random = Array.from({ length: draws }, () => makePermanentToken().slice(-64));
  expect(64 * Math.log2(62)).toBeGreaterThan(256);
  for (let place = 0; place < 64; place += 1) {
    const counts = new Map<string, number>();
    for (const text of random) counts.set(text.charAt(place), (counts.get(text.charAt(place)) ?? 0) + 1);
    const expected = draws / 62;
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, (62 - counts.size) * expected);
    // 61 degrees of freedom: a fair generator exceeds 180 once in ten billion times.
    expect(chiSquare).toBeLessThan(180);
  }
  // Neighbours tell nothing of each other: all pairs of characters come up about as often.
  const pairs = new Map<string, number>();
  for (const text of random)
    for (let at = 0; at < 63; at += 1) pairs.set(text.slice(at, at + 2), (pairs.get(text.slice(at, at + 2)) ?? 0) + 1);
  const expected = (draws * 63) / 62 ** 2;
  const chiSquare = [...pairs.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(pairs.size).toBe(62 ** 2);
  expect(chiSquare).toBeLessThan(3_843 + 7 * Math.sqrt(2 * 3_843));
});

it.each(['', 'x'.repeat(15), 'x'.repeat(1_025), `${'x'.repeat(16)} y`, `${'x'.repeat(16)}\n`, `${'x'.repeat(16)}é`])(
  'the token %j is refused',
  (text) => {
    expect(() => parsePermanentToken(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  },
);
