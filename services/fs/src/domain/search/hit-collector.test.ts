import { createPace } from '@wharf/pace';
import { compareNames, type EntryName, parseVirtualPath } from '@wharf/paths';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHitCollector } from './hit-collector.ts';
import type { SearchHit } from './search-index.ts';

const hit = (name: string, parent = '/'): SearchHit => ({
  parent: parseVirtualPath(parent),
  name: name as EntryName,
  isDirectory: false,
  sizeBytes: 1,
});

describe('collecting hits', () => {
  // From U+E000 on the order of texts in memory is not that of their bytes beside what has surrogates.
  const name = fc
    .array(fc.constantFrom('a', 'b', 'Z', 'é', '\ue000', '\uffee', '😀'), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join(''));
  const hits = fc.array(fc.record({ name, parent: fc.constantFrom('/', '/a', '/\uffee', '/😀') }), { maxLength: 60 });

  it('gives each page of all hits in the order of their names, then of their folders', async () => {
    await fc.assert(
      fc.asyncProperty(hits, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 12 }), async (found, page, perPage) => {
        const collector = createHitCollector({ page, perPage });
        for (const each of found) collector.add(hit(each.name, each.parent));
        const sorted = found.toSorted((one, other) => compareNames(one.name, other.name) || compareNames(one.parent, other.parent));
        const expected = {
          hits: sorted.slice((page - 1) * perPage, page * perPage).map((each) => hit(each.name, each.parent)),
          total: found.length,
        };
        expect(collector.answer()).toEqual(expected);
        expect(await collector.answerInTurns(createPace())).toEqual(expected);
      }),
    );
  });

  it('keeps folders of no more letters than it has room for, those of better hits in the place of others', () => {
    const collector = createHitCollector({ page: 1, perPage: 2 }, 8);
    for (const name of ['d', 'c', 'b', 'a']) collector.add(hit(name, '/123'));
    expect(collector.answer().hits.map((each) => each.name)).toEqual(['a', 'b']);
    expect(() => collector.add(hit('0', '/1234'))).toThrow('smaller pages');
  });

  it('looks at few others for each hit, however many are kept, and where the best come last', () => {
    const looksAt = (perPage: number) => {
      const count = 5 * perPage;
      const collector = createHitCollector({ page: 1, perPage });
      let looks = 0;
      for (let index = count; index > 0; index -= 1) {
        const counted = {
          ...hit(''),
          get name() {
            looks += 1;
            return String(index).padStart(8, '0') as EntryName;
          },
        };
        collector.add(counted);
      }
      return looks / count;
    };
    // As the logarithm: 10 steps down to the lowest of a thousand, 14 of sixteen thousand.
    expect(looksAt(16_000) / looksAt(1_000)).toBeLessThan(2);
  });
});
