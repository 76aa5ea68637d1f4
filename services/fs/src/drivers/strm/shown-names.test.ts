import type { EntryName } from '@wharf/paths';
import { expect, it, vi } from 'vitest';
import { mayDecide, shownNames } from './shown-names.ts';

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

it('what may decide a name is enough to know what it stands for', async () => {
  const kinds = { shown: new Set(['strm', 'srt']), media: new Set(['mkv', 'mp4']), minBytes: 0 };
  const endings = ['mkv', 'mp4', 'strm', 'srt', 'MKV', 'txt'];
  const names = endings.flatMap((one) => [`a.${one}`, `b.${one}`, ...endings.flatMap((two) => [`a.${one}.${two}`, `a.${one}.${two}.mkv`])]);
  for (let left = 0; left < 6; left += 1) {
    const sources = names
      .filter((_, index) => (index * 7 + left) % 3 > 0)
      .map((name) => ({ entry: { name: name as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) } }));
    const all = await shownNames(sources, kinds, undefined);
    for (const name of new Set([...all.keys(), ...names, ...names.map((each) => `${each}.strm`)]) as Set<EntryName>) {
      const decides = mayDecide(name);
      const few = await shownNames(
        sources.filter(({ entry }) => decides(entry.name)),
        kinds,
        undefined,
      );
      expect(few.get(name)).toEqual(all.get(name));
    }
  }
});
