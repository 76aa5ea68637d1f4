import { expect, it } from 'vitest';
import { createGate } from './gate.ts';

it('no more runs at once than may; the rest waits in order, also behind what fails, and what is over the limit is refused', async () => {
  const gate = createGate(3, { max: 3, refusal: 'too much' });
  const works = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const calls = works.map((work, index) =>
    gate.run(async () => {
      begun.push(index);
      await work.promise;
      return index;
    }),
  );
  const outcomes = Promise.allSettled(calls);
  await expect(gate.run(async () => 'a seventh')).rejects.toMatchObject({ code: 'RATE_LIMITED', message: 'too much' });
  expect(begun).toEqual([0, 1, 2]);
  works[1]?.reject(new Error('the disk'));
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  for (const work of works) work.resolve();
  expect((await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed'))).toEqual([0, 'failed', 2, 3, 4, 5]);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  expect(gate.isIdle()).toBe(true);
  // All places are free again.
  expect(await Promise.all([7, 8, 9].map((value) => gate.run(async () => value)))).toEqual([7, 8, 9]);
});

it('without a bound of its queue any number waits', async () => {
  const gate = createGate(1);
  expect(gate.isIdle()).toBe(true);
  const calls = Array.from({ length: 1_000 }, (_, index) => gate.run(async () => index));
  expect(gate.isIdle()).toBe(false);
  expect(await Promise.all(calls)).toHaveLength(1_000);
});
