import { expect, it } from 'vitest';
import { recordsToTell } from './records-to-tell.ts';

it('tells of five hundred records at most, of what failed first', () => {
  const records = Array.from({ length: 50_000 }, (_, name) => ({ name, outcome: ['unchanged', 'created', 'failed'][name % 3] ?? '' }));
  const { shown, others } = recordsToTell([{ name: -1, outcome: 'updated' }, ...records]);
  expect([shown.length, others, new Set(shown.map(({ outcome }) => outcome))]).toEqual([500, 32_834, new Set(['failed'])]);
  expect(recordsToTell(records.slice(0, 3)).shown.map(({ outcome }) => outcome)).toEqual(['failed', 'created']);
});
