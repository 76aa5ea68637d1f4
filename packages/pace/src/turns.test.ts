import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it.each([10, 20, 40])('of %i who ask at once no two have the same turn of the event loop', async (count) => {
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const takeTurn = createTurns();
  const taken = await Promise.all(Array.from({ length: count }, () => takeTurn().then(() => turn)));
  isOver = true;
  expect(new Set(taken).size).toBe(count);
});
