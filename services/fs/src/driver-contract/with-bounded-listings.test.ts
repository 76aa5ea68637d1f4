import { AppError } from '@wharf/errors';
import { MOUNT_ROOT, parseEntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { createListingRoom } from './listing-room.ts';
import type { Entry } from './storage-driver.ts';
import { withBoundedListings } from './with-bounded-listings.ts';

const file = (name: string): Entry => ({ name: parseEntryName(name), isDirectory: false, sizeBytes: 0, modifiedAt: new Date() });

async function endless(name: (index: number) => string, elapsedMs = 0) {
  const driver = await memoryDriver.open('');
  let [listed, now] = [0, 0];
  driver.list = async function* () {
    for (; ; now += elapsedMs) {
      listed += 1;
      yield file(name(listed));
    }
  };
  const bounded = withBoundedListings(driver, { room: createListingRoom(1_000_000), maxMs: 1_000 }, () => now);
  return { listing: Array.fromAsync(bounded.list(MOUNT_ROOT)), listed: () => listed };
}

it('a listing without an end is left, after fewer entries where they have long names', async () => {
  const short = await endless((index) => `${index}`);
  await expect(short.listing).rejects.toSatisfy((error) => AppError.is(error, 'FAILED_PRECONDITION'));
  const long = await endless((index) => `${index}`.padStart(255, 'n'));
  await expect(long.listing).rejects.toSatisfy((error) => AppError.is(error, 'FAILED_PRECONDITION'));
  expect(long.listed()).toBeLessThan(short.listed() / 2);
});

it('a listing that trickles for ever is left', async () => {
  const { listing } = await endless((index) => `${index}`, 10);
  await expect(listing).rejects.toSatisfy((error) => AppError.is(error, 'DEADLINE_EXCEEDED'));
});
