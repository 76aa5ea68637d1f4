import type { EntryName } from '@wharf/paths';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { decidersOf, shownNames } from './shown-names.ts';

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

it('a few entries decide about a name, as all of the folder do', async () => {
  const kinds = { shown: new Set(['srt', 'strm']), media: new Set(['mkv', 'mp4']), minBytes: 2 };
  const part = fc.constantFrom('a', 'b', 'mkv', 'mp4', 'MKV', 'srt', 'strm', '');
  const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.') as EntryName);
  const entry = fc.record({ name, isDirectory: fc.boolean(), sizeBytes: fc.constantFrom(1, 9), modifiedAt: fc.constant(new Date(0)) });
  const folder = fc.uniqueArray(entry, { maxLength: 25, selector: ({ name: own }) => own });
  const property = fc.asyncProperty(folder, async (entries) => {
    const sources = entries.map((each) => ({ entry: each }));
    const all = await shownNames(sources, kinds, undefined);
    const asked = [...all.keys(), ...entries.map((each) => `${each.name}.strm`)].filter((each) => each.endsWith('.strm')) as EntryName[];
    for (const each of asked) {
      const decides = decidersOf(each, kinds);
      const few = await shownNames(
        sources.filter((source) => decides(source.entry)),
        kinds,
        undefined,
      );
      expect([each, few.get(each)]).toEqual([each, all.get(each)]);
    }
  });
  await fc.assert(property, { numRuns: 300 });
});
