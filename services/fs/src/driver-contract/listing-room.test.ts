import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import { takeEntries } from './entry-map.ts';
import { asOneListing, createListingRoom, listedBytes } from './listing-room.ts';
import type { Entry } from './storage-driver.ts';

const MIB = 1024 * 1024;

it('listings have one room: who goes beyond it is refused, and what one gives back others take', () => {
  const room = createListingRoom(2 * MIB);
  const [first, second] = [room.enter(), room.enter()];
  first.take(1.5 * MIB);
  expect(() => second.take(MIB)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  second.leave();
  first.leave();
  first.leave();
  const third = room.enter();
  third.take(2 * MIB);
  expect(() => third.take(1)).toThrow(expect.objectContaining({ code: 'FAILED_PRECONDITION' }));
  third.leave();
});

it('a short listing goes on while others take all there is', () => {
  const room = createListingRoom(MIB);
  const [long, short] = [room.enter(), room.enter()];
  long.take(MIB);
  for (let entry = 0; entry < 1_000; entry += 1) short.take(200);
  expect(() => short.take(MIB / 2)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  for (const share of [long, short]) share.leave();
});

it('listings that one walk holds at the same time count as one, however short each is', () => {
  const room = createListingRoom(MIB);
  const walk = asOneListing(room);
  const levels = [walk.enter(), walk.enter(), walk.enter(), walk.enter(), walk.enter()] as const;
  for (const level of levels.slice(1)) level.take(MIB / 4);
  expect(() => levels[0].take(MIB / 4)).toThrow(expect.objectContaining({ code: 'FAILED_PRECONDITION' }));
  levels[0].leave();
  levels[1].leave();
  levels[1].leave();
  levels[0].take(MIB / 4);
  for (const level of levels) level.leave();
  const other = room.enter();
  other.take(MIB);
  other.leave();
});

it('all storages have one room, too', () => {
  const [one, other] = [createListingRoom(2 * MIB, 3 * MIB).enter(), createListingRoom(2 * MIB, 3 * MIB).enter()];
  one.take(2 * MIB);
  expect(() => other.take(2 * MIB)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  one.leave();
  other.leave();
});

it.each([
  ['short', (index: number) => index.toString(36)],
  ['usual', (index: number) => `a picture ${String(index).padStart(6, '0')}.jpg`],
  ['long', (index: number) => String(index).padStart(250, 'n')],
  ['not Latin', (index: number) => `照片 ${String(index).padStart(6, '0')}.jpg`],
])('entries with names that are %s are counted for what they take', async (_, nameOf) => {
  const entries = Array.from({ length: 40_000 }, (_unused, index): Entry => {
    return { name: nameOf(index) as EntryName, isDirectory: false, sizeBytes: 5, modifiedAt: new Date(7), version: 'x'.repeat(32) };
  });
  const counted = entries.reduce((sum, entry) => sum + listedBytes(entry), 0);
  // The names are counted twice: the driver remembers them.
  const names =
    entries.reduce((sum, { name }) => sum + listedBytes({ name, isDirectory: false, sizeBytes: 0, modifiedAt: new Date(0) }) - 80, 0) / 2;
  const { bytes } = await takeEntries(entries);
  expect(counted).toBeGreaterThan(bytes + names);
  expect(counted).toBeLessThan(2 * (bytes + names));
});
