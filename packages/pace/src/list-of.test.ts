import { expect, it } from 'vitest';
import { z } from 'zod';
import { listOf } from './list-of.ts';

it('a list has its elements as their shape makes them', () => {
  expect(listOf(z.object({ size: z.number().default(0) })).parse([{}, { size: 1 }])).toEqual([{ size: 0 }, { size: 1 }]);
});

it('a list ends at its first wrong element, with one issue, however long it is', () => {
  let looks = 0;
  const element = z.string().refine(() => {
    looks += 1;
    return true;
  });
  const list = z.object({ names: listOf(element) });
  const parsed = list.safeParse({ names: ['a', 'b', ...Array(10_000).fill(1), ...Array(10_000).fill('c')] });
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['names', 2]]);
  expect(looks).toBe(2);
  expect(list.safeParse({ names: 'a' }).error?.issues.map(({ path }) => path)).toEqual([['names']]);
});
