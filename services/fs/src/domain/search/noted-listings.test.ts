import { countTurns } from '@wharf/harness';
import { expect, it } from 'vitest';
import { vpath } from '../testing/memory-tree.ts';
import { createNotedListings } from './noted-listings.ts';
import type { SearchIndex } from './search-index.ts';

it('a folder that the index never queues holds up no others', async () => {
  const listings = createNotedListings();
  const queued: string[] = [];
  const index = {
    readState: async () => ({ generation: 1 }),
    findFolder: async (path: string) => ({ path, depth: 1 }),
    async requeue(path: string) {
      if (path === '/odd') throw new Error('odd');
      queued.push(path);
    },
  } as unknown as SearchIndex;
  for (const path of ['/odd', '/one', '/two']) expect(await listings.note(vpath(path), ['a'])).toBe(true);
  await expect(listings.queueFolders(index, () => false)).rejects.toThrow('odd');
  await expect(listings.queueFolders(index, () => false)).rejects.toThrow('odd');
  expect(queued).toEqual(['/one', '/two']);
  expect(listings.size()).toBe(1);
});

it('the names of a folder of hundreds of thousands are looked at in turns with other work', async () => {
  const listings = createNotedListings();
  const names = Array.from({ length: 300_000 }, (_, number) => `name ${number}`.padEnd(60, '.'));
  const turns = countTurns();
  expect(await listings.note(vpath('/long'), names)).toBe(true);
  await listings.follow(vpath('/long'), names);
  turns.stop();
  expect(turns.count()).toBeGreaterThan(4);
  expect(listings.size()).toBe(0);
  expect(await listings.note(vpath('/long'), names)).toBe(false);
});

it('a listing that the index has read itself does not wait, though it was still being noted: its folder would be read twice', async () => {
  const listings = createNotedListings();
  const noted = listings.note(vpath('/read'), ['a']);
  await listings.follow(vpath('/read'), ['a']);
  await noted;
  expect(listings.size()).toBe(0);
});
