import { expect, it } from 'vitest';
import { moveInOrder } from './storage-order.ts';

const all = [
  { id: 4, order: 0 },
  { id: 2, order: 0 },
  { id: 3, order: 2 },
];

it.each([
  [2, -1, [{ id: 4, order: 1 }]],
  [
    2,
    1,
    [
      { id: 3, order: 1 },
      { id: 2, order: 2 },
    ],
  ],
  [4, -1, []],
  [3, 1, []],
  [9, 1, []],
] as const)('of storage %d going by %d only those change whose place does', (id, by, changed) => {
  expect(moveInOrder(all, id, by)).toEqual(changed);
});
