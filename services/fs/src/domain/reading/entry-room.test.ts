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

it('of long listings no more are made at once than there is room for; short ones go on in a room of their own', () => {
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

it('short ones are counted, too, with the letters of their names: many of them hold what a long one does', () => {
  const enter = roomFor(20_000);
  const rooms = ['one', 'other', 'third', 'fourth'].flatMap((caller) => Array.from({ length: 64 }, () => enter(caller)));
  const made = rooms.filter((room, index) => !busy(() => room.hold(namesOf(`${index}`, 100))) && !busy(() => room.take(1_000, 20_000)));
  expect(made.length).toBeGreaterThan(4);
  expect(made.length).toBeLessThan(10);
  enter('fifth').take(50);
  for (const room of rooms) room.leave();
  enter('one').take(1_000);
  enter('one').take(8_000);
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

it('several of one caller have three quarters of it', () => {
  const enter = roomFor(10_000);
  enter('one').take(4_000);
  expect(busy(() => enter('one').take(4_000))).toBe(true);
  enter('one').take(3_500);
  enter('other').take(2_500);
});

const namesOf = (folder: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${folder.repeat(200)}${index}` as EntryName);

it('the names of other folders count for their caller', () => {
  const enter = roomFor(20_000);
  const [first, second] = [enter('one'), enter('one')];
  first.hold(namesOf('a', 4_000));
  expect(busy(() => second.hold(namesOf('b', 4_000)))).toBe(true);
  enter('other').hold(namesOf('c', 4_000));
  first.leave();
  second.hold(namesOf('b', 4_000));
});

it('a folder that changed while it was listed is listed once more, alone or by its caller beside others', () => {
  const enter = roomFor(10_000);
  enter('other').take(1_400);
  const only = enter('one');
  for (const folder of ['a', 'b']) {
    only.hold(namesOf(folder, 2_000));
    only.take(2_000);
  }
  only.leave();
  only.take(8_000);
});

it('names take room by their letters, once for all who have the very same, until the last of them leaves', () => {
  const enter = roomFor(10_000);
  const [many, others] = [namesOf('n', 3_000), namesOf('n', 3_000)];
  const rooms = Array.from({ length: 64 }, () => enter('one'));
  for (const room of rooms) room.hold(many);
  for (const room of rooms) room.take(50);
  expect(busy(() => enter('other').hold(others))).toBe(true);
  const [last, ...first] = rooms;
  for (const room of first) room.leave();
  expect(busy(() => enter('other').hold(others))).toBe(true);
  last?.leave();
  enter('other').hold(others);
});
