import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import { unpackEntry } from './packed-entries.ts';

it.each([
  [1_234.6, 1_235],
  [9_223_372_036_854_775_000, 8.64e15],
  [-9_223_372_036_854_775_000, -8.64e15],
])('a time of %d ms on the disk is one that can be written down', (ms, expected) => {
  const entry = unpackEntry('name' as EntryName, [1, 0, 5, ms, Math.abs(ms)], 0);
  expect(entry?.modifiedAt.getTime()).toBe(expected);
  expect(entry?.createdAt?.getTime()).toBe(Math.abs(expected));
});
