import { expect, it } from 'vitest';
import { IoSlots } from './io-slots.ts';

it('three of one storage run at once; the others wait in turn, also behind one that fails', async () => {
  const slots = new IoSlots();
  const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const calls = gates.map((gate, index) =>
    slots.run(async () => {
      begun.push(index);
      await gate.promise;
      return index;
    }),
  );
  const outcomes = Promise.allSettled(calls);
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  gates[1]?.reject(new Error('the disk'));
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  for (const gate of gates) gate.resolve();
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  // All slots are free again.
  expect(await Promise.all([7, 8, 9].map((value) => slots.run(async () => value)))).toEqual([7, 8, 9]);
});

it('a storage that holds its slots for ever keeps no other storage waiting', async () => {
  const [hangs, works] = [new IoSlots(), new IoSlots()];
  for (let call = 0; call < 10; call += 1) void hangs.run(() => new Promise(() => {}));
  expect(await works.run(async () => 'done')).toBe('done');
});
