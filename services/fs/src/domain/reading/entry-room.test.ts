import { AppError } from '@wharf/errors';
import type { EntryName } from '@wharf/paths';
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

/** Room for so many entries beside their names. */
const roomFor = (entries: number) => createEntryRoom(200 * entries);

it('of long listings no more are made at once than there is room for; short ones go on', () => {
  const enter = roomFor(10_000);
  const [first, second, third] = [enter('one'), enter('other'), enter('third')];
  first.take(6_000);
  // The same listing once more, of a folder that changed meanwhile.
  first.take(6_000);
  expect(busy(() => second.take(6_000))).toBe(true);
  second.take(4_000);
  expect(busy(() => third.take(1_400))).toBe(true);
  third.take(1_000);
  first.leave();
  first.leave();
  third.take(6_000);
  expect(busy(() => first.take(1_400))).toBe(true);
});

it('one that finds nobody else may be longer than all of it', () => {
  const enter = roomFor(10_000);
  const only = enter('one');
  only.hold(Array.from({ length: 60_000 }, (_, index) => `${index}` as EntryName));
  only.take(60_000);
  expect(busy(() => enter('other').take(1_400))).toBe(true);
  only.leave();
  enter('other').take(1_400);
});

it('several of one caller have half of it', () => {
  const enter = roomFor(10_000);
  enter('one').take(3_000);
  expect(busy(() => enter('one').take(3_000))).toBe(true);
  enter('one').take(2_000);
  enter('other').take(5_000);
});

it('names take room by their letters, once for all who have the very same, until the last of them leaves', () => {
  const enter = roomFor(10_000);
  const names = (count: number) => Array.from({ length: count }, (_, index) => `${'n'.repeat(200)}${index}` as EntryName);
  const [many, others] = [names(3_000), names(3_000)];
  const rooms = Array.from({ length: 64 }, () => enter('one'));
  for (const room of rooms) room.hold(many);
  for (const room of rooms) room.take(1_000);
  expect(busy(() => enter('other').hold(others))).toBe(true);
  const [last, ...first] = rooms;
  for (const room of first) room.leave();
  expect(busy(() => enter('other').hold(others))).toBe(true);
  last?.leave();
  enter('other').hold(others);
});
