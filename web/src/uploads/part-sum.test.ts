import { expect, it } from 'vitest';
import { createPartSum } from '../../../services/fs/src/domain/uploads/part-sum.ts';
import { partSum } from './part-sum.ts';

it('sums a part as the server does', async () => {
  const session = '00112233445566778899aabbccddeeff';
  for (const content of [Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(100_003, 7)]) {
    const sum = createPartSum(session);
    sum.update(content.subarray(0, 50_000));
    sum.update(content.subarray(50_000));
    expect(await partSum(session, new Blob([content]))).toBe(sum.value());
  }
});
