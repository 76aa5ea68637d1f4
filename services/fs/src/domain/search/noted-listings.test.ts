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
  for (const path of ['/odd', '/one', '/two']) listings.note(vpath(path), ['a']);
  await expect(listings.queueFolders(index, () => false)).rejects.toThrow('odd');
  await expect(listings.queueFolders(index, () => false)).rejects.toThrow('odd');
  expect(queued).toEqual(['/one', '/two']);
  expect(listings.size()).toBe(1);
});
