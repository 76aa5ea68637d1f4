import { AppError } from '@wharf/errors';
import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { MAX_PAIRS, parsePairs } from './parse-pairs.ts';

afterEach(() => vi.unstubAllGlobals());

it('reads what URLSearchParams reads, in the same order', () => {
  const text = fc.array(
    fc.constantFrom('a', 'B', '=', '&', '+', '%20', '%', '%zz', '%c3%a9', '%ff', 'é', '😀', '?', '#', ' ', '\0', '__proto__'),
  );
  fc.assert(
    fc.property(text, (parts) => {
      const raw = parts.join('');
      expect(parsePairs(raw)).toEqual([...new URLSearchParams(`&${raw}`)]);
    }),
    { numRuns: 1_000 },
  );
});

it('refuses more fields than it takes, whatever they look like', () => {
  for (const pair of ['a&', 'a=b&', '&']) {
    expect(() => parsePairs(pair.repeat(MAX_PAIRS - 1))).not.toThrow();
    expect(() => parsePairs(pair.repeat(MAX_PAIRS))).toThrow(new AppError('INVALID_ARGUMENT', 'no more than 20000 fields at once'));
    expect(() => parsePairs(pair.repeat(1_000_000))).toThrow('no more than');
  }
});

it('gives the parser of the platform each character once, and never two fields together', () => {
  const given: string[] = [];
  const Original = URLSearchParams;
  vi.stubGlobal(
    'URLSearchParams',
    class extends Original {
      constructor(text: string) {
        given.push(text);
        super(text);
      }
    },
  );
  for (const count of [1_000, 2_000, 4_000]) {
    given.length = 0;
    const text = 'a&'.repeat(count);
    parsePairs(text);
    expect(given.join('')).toBe(`&${text}`);
    expect(Math.max(...given.map((each) => each.length))).toBe(2);
  }
});
