import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createEntryRoom } from './entry-room.ts';

const busy = (run: () => void) => {
  try {
    run();
    return false;
  } catch (error) {
    return AppError.is(error, 'OVERLOADED');
  }
};

it('of long listings no more are made at once than there is room for; short ones go on', () => {
  const enter = createEntryRoom(10_000);
  const [first, second, third] = [enter(), enter(), enter()];
  first.take(6_000);
  // The same listing once more, of a folder that changed meanwhile.
  first.take(6_000);
  expect(busy(() => second.take(6_000))).toBe(true);
  second.take(4_000);
  expect(busy(() => third.take(1_001))).toBe(true);
  third.take(1_000);
  first.leave();
  first.leave();
  third.take(6_000);
  expect(busy(() => first.take(1_001))).toBe(true);
});

it('one that finds nobody else may be longer than all of it', () => {
  const enter = createEntryRoom(10_000);
  const only = enter();
  only.take(60_000);
  expect(busy(() => enter().take(1_001))).toBe(true);
  only.leave();
  enter().take(1_001);
});
