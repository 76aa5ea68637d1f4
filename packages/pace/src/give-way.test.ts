import { expect, it } from 'vitest';
import { giveWay } from './give-way.ts';

it('many loops that wait for nothing are one turn, which ends after a slice', async () => {
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  const loop = async () => {
    while (turns === 0) await giveWay();
  };
  await Promise.all([loop(), loop(), loop()]);
  expect(turns).toBe(1);
});

it('nobody waits in a turn that has been short', async () => {
  await new Promise((resolve) => setImmediate(resolve));
  expect(giveWay()).toBeUndefined();
});
