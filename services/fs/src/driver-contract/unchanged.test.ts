import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import type { Entry } from './storage-driver.ts';
import { isOtherEntry, isUnchanged } from './unchanged.ts';

const file = (more: Partial<Entry> = {}): Entry => ({
  name: 'file' as EntryName,
  isDirectory: false,
  sizeBytes: 5,
  modifiedAt: new Date(1_000),
  ...more,
});
const untold = file({ sizeBytes: undefined, modifiedAt: new Date(0) });

it.each<[string, Entry, Entry, boolean, boolean]>([
  ['it says the same', file(), file(), true, false],
  ['it has another size', file(), file({ sizeBytes: 6 }), false, true],
  ['it has another date', file(), file({ modifiedAt: new Date(2_000) }), false, true],
  ['an empty one is told without a size', file({ sizeBytes: 0 }), file({ sizeBytes: undefined }), true, false],
  ['it had bytes, and no size is told', file(), file({ sizeBytes: undefined }), false, true],
  ['nothing is told that could be other', untold, untold, false, false],
  ['a size is told since', untold, { ...untold, sizeBytes: 5 }, false, true],
  ['a date is told since', untold, { ...untold, modifiedAt: new Date(1_000) }, false, true],
])('a file of which %s', (_, before, now, unchanged, other) => {
  expect([isUnchanged(before, now), isOtherEntry(before, now)]).toEqual([unchanged, other]);
});
