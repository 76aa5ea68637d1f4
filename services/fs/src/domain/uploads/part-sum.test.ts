import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPartSum } from './part-sum.ts';

const ID = 'a'.repeat(32);
const sumOf = (pieces: readonly Uint8Array[], id = ID) => {
  const sum = createPartSum(id);
  for (const piece of pieces) sum.update(piece);
  return sum.value();
};

describe('the sum of a part', () => {
  it('does not depend on the pieces it comes in', () => {
    const bytes = randomBytes(100_000);
    const whole = sumOf([bytes]);
    for (const cut of [0, 1, 15, 16, 17, 4_097, 65_536, 99_999])
      expect(sumOf([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toBe(whole);
    expect(sumOf(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toBe(whole);
  });

  it('is another one for each bit that is another, for other lengths, and for another upload', () => {
    const bytes = randomBytes(64);
    const sums = new Set([sumOf([bytes]), sumOf([bytes], 'b'.repeat(32)), sumOf([])]);
    for (let bit = 0; bit < 512; bit += 1) {
      const other = Buffer.from(bytes);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      sums.add(sumOf([other]));
    }
    for (let length = 1; length <= 16; length += 1) sums.add(sumOf([Buffer.alloc(length)]));
    expect(sums.size).toBe(3 + 512 + 16);
  });

  it('is what the page counts, too (web/src/uploads/part-sum.test.ts)', () => {
    const id = '00112233445566778899aabbccddeeff';
    expect([Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(100_003, 7)].map((part) => sumOf([part], id))).toEqual([
      146_049_452_772_175, 249_071_479_833_627, 133_363_568_980_752,
    ]);
  });

  it('is a whole number that stays exact with one added', () => {
    for (let turn = 0; turn < 100; turn += 1) {
      const sum = sumOf([randomBytes(turn)]);
      expect(Number.isSafeInteger(sum + 1) && sum >= 0).toBe(true);
    }
  });
});
