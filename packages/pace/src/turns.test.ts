import { expect, it } from 'vitest';
import { createFairTurns, createTurns } from './turns.ts';

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

it('whoever has many to wait for waits behind these, and others do not', async () => {
  const taken: string[] = [];
  const takeTurn = createFairTurns();
  const take = (owner: string) => takeTurn(owner, 16).then(() => taken.push(owner));
  const many = Array.from({ length: 20 }, () => take('many'));
  await take('one');
  expect(taken.length).toBeLessThan(5);
  await Promise.all(many);
  expect(taken).toHaveLength(21);
});

it('of one owner no more wait than may, and others do all the same', async () => {
  const takeTurn = createFairTurns({ max: 3, refusal: 'too many wait' });
  const asked = ['many', 'many', 'many', 'many', 'many', 'many', 'one'].map((owner) => takeTurn(owner, 16).then(() => owner));
  const taken = (await Promise.allSettled(asked)).map((turn) => (turn.status === 'fulfilled' ? turn.value : turn.reason.code));
  expect(taken).toEqual(['many', 'many', 'many', 'many', 'OVERLOADED', 'OVERLOADED', 'one']);
});
