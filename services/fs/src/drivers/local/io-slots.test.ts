import { expect, it } from 'vitest';
import { createIoSlots } from './io-slots.ts';

it('a storage holds three I/O threads at most, and for ever keeps no other storage waiting', async () => {
  const [hangs, works] = [createIoSlots(), createIoSlots()];
  let begun = 0;
  for (let call = 0; call < 10; call += 1)
    void hangs.run(() => {
      begun += 1;
      return new Promise(() => {});
    });
  expect(await works.run(async () => 'done')).toBe('done');
  expect(begun).toBe(3);
});
