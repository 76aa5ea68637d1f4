import type { EntryName } from '@wharf/paths';
import { expect, it, vi } from 'vitest';
import { shownNames } from './shown-names.ts';

it('of many media none are sorted in one go, and each has its name', async () => {
  const sources = Array.from({ length: 30_000 }, (_, index) => ({
    entry: { name: `${(index * 7919) % 30_000}.mkv` as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) },
  }));
  const sorting = vi.spyOn(Array.prototype, 'sort');
  const shown = await shownNames(sources, { shown: new Set(), media: new Set(['mkv']), minBytes: 0 }, undefined);
  const longest = Math.max(...sorting.mock.contexts.map((items) => (items as unknown[]).length));
  sorting.mockRestore();
  expect(longest).toBeLessThanOrEqual(1_000);
  expect(shown.size).toBe(30_000);
});
