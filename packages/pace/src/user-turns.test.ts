import { expect, it } from 'vitest';
import { createUserTurns } from './user-turns.ts';

it('one work of a user runs at a time, in order, and holds up nobody else', async () => {
  const inTurn = createUserTurns();
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => async () => {
    log.push(name);
    await new Promise<void>((resolve) => ends.push(resolve));
    return name;
  };
  const [first, second] = [inTurn(1, work('first')), inTurn(1, work('second'))];
  const rest = [inTurn(2, work('of another')), inTurn(undefined, work('of all')), inTurn(undefined, work('of all'))];
  await Promise.resolve();
  expect(log).toEqual(['first', 'of another', 'of all', 'of all']);
  for (const end of ends.splice(0)) end();
  expect(await first).toBe('first');
  await Promise.all(rest);
  expect(log.at(-1)).toBe('second');
  for (const end of ends.splice(0)) end();
  expect(await second).toBe('second');
  await expect(inTurn(1, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(await inTurn(1, async () => 'after it')).toBe('after it');
});
