import { expect, it } from 'vitest';
import { createSeenFolders } from './seen-folders.ts';

it('what was seen of folders is not held when it counts no more, though nobody asks', async () => {
  const seen = createSeenFolders<string, Set<string>>();
  for (let index = 0; index < 100; index += 1) seen.set(`/${index}`, new Set(['name']));
  await expect.poll(() => seen.size, { timeout: 10_000 }).toBe(0);
});
