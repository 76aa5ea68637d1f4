import fc from 'fast-check';
import { expect, it } from 'vitest';
import { document, value } from '../../test/arbitraries.ts';
import { compareValues } from './compare.ts';
import { encodeValue, KeyWriter } from './key-encoding.ts';

it('encoded values compare as the values do', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(Math.sign(Buffer.compare(encodeValue(a), encodeValue(b)))).toBe(Math.sign(compareValues(a, b)));
    }),
    { numRuns: 3000 },
  );
});

it('several values in one key compare one after the other, each in its direction', () => {
  const writer = new KeyWriter();
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value, fc.boolean()), { minLength: 1, maxLength: 3 }), (parts) => {
      const key = (side: 0 | 1) => {
        for (const part of parts) writer.writePart(part[side], part[2]);
        return writer.take();
      };
      const expected =
        parts.map(([a, b, descending]) => Math.sign(compareValues(a, b)) * (descending ? -1 : 1)).find((order) => order !== 0) ?? 0;
      expect(Math.sign(Buffer.compare(key(0), key(1)))).toBe(expected === 0 ? 0 : expected);
    }),
    { numRuns: 2000 },
  );
});

it('the order of values is total: no three values go round in a circle', () => {
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) expect(compareValues(a, c)).toBeLessThanOrEqual(0);
      expect(Math.sign(compareValues(a, b))).toBe(-Math.sign(compareValues(b, a)) || 0);
    }),
    { numRuns: 2000 },
  );
});

it('a document compares as the same value that it encodes to', () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      expect(Math.sign(Buffer.compare(encodeValue(a), encodeValue(b)))).toBe(Math.sign(compareValues(a, b)));
    }),
    { numRuns: 1000 },
  );
});
