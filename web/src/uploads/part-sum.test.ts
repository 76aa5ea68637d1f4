import { expect, it } from 'vitest';
import { partSum } from './part-sum.ts';

const SESSION = '00112233445566778899aabbccddeeff';

it.each([
  // As services/fs/src/domain/uploads/part-sum.test.ts has them.
  [new Blob([]), 146_049_452_772_175],
  [new Blob(['a']), 249_071_479_833_627],
  [new Blob([new Uint8Array(100_003).fill(7)]), 133_363_568_980_752],
])('sums a part as the server does', async (part, sum) => {
  expect(await partSum(SESSION, part)).toBe(sum);
});
