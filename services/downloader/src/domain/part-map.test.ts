import { expect, it } from 'vitest';
import { MAX_FILE_BYTES, MAX_PARTS, PartMap } from './part-map.ts';

const MIB = 1024 * 1024;
const validator = { etag: '"one"', lastModified: '' };

it.each([
  [1, 1, MIB],
  [63 * MIB, 63, MIB],
  [64 * MIB, 16, 4 * MIB],
  [1024 * MIB, 64, 16 * MIB],
  [MAX_PARTS * 16 * MIB, MAX_PARTS, 16 * MIB],
  [MAX_PARTS * 16 * MIB + 1, 94_118, 17 * MIB],
  [MAX_FILE_BYTES, 99_865, 168 * MIB],
])('a file of %i bytes has %i parts of %i', (sizeBytes, count, partBytes) => {
  const map = PartMap.begin(sizeBytes, validator);
  expect([map.count, map.partBytes]).toEqual([count, partBytes]);
  expect(map.range(count - 1).end).toBe(sizeBytes - 1);
});

it.each([
  [20 * MIB, 8 * MIB, 8 * MIB],
  [1024 * MIB, 8 * MIB, 16 * MIB],
  [1024 * MIB, 12 * MIB, 24 * MIB],
])('a file of %i bytes for a place that has parts of %i is cut at multiples of it', (sizeBytes, gridBytes, partBytes) => {
  expect(PartMap.begin(sizeBytes, validator, gridBytes).partBytes).toBe(partBytes);
});

it('parts are looked for as they are asked for', () => {
  let looked = 0;
  class Counting extends PartMap {
    override isDone(part: number): boolean {
      looked += 1;
      return super.isDone(part);
    }
  }
  const map = new Counting({ ...PartMap.begin(MAX_FILE_BYTES, validator).save(), done: Buffer.from([0b1011]).toString('base64') });
  const missing = map.missing();
  expect([missing.next().value, missing.next().value]).toEqual([2, 4]);
  expect(looked).toBe(5);
});
