import { parseEntryName } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import type { Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { looksLikeCopy } from './looks-like-copy.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');

const file = (atMs: number, rest: Partial<Entry> = {}): Entry => ({
  name: parseEntryName('file'),
  isDirectory: false,
  sizeBytes: 10,
  modifiedAt: new Date(atMs),
  ...rest,
});
/** A storage that keeps times on such a grid. */
const on = (modTimeStepMs: number | undefined) => ({ traits: { modTimeStepMs } }) as StorageDriver;

describe('a file with the size of another one', () => {
  it.each([
    [1, 1],
    [1_000, 1_000],
    [2_000, 2_000],
  ])('is its copy where their times are no farther apart than the grid of its storage, %i ms', (stepMs, apartMs) => {
    for (const ms of [0, apartMs - 1, 1 - apartMs]) expect(looksLikeCopy(file(NOON + ms), file(NOON), on(stepMs))).toBe(true);
    for (const ms of [apartMs + 1, -apartMs - 1]) expect(looksLikeCopy(file(NOON + ms), file(NOON), on(stepMs))).toBe(false);
  });

  it('is as good as its time on a finer grid than a millisecond', () => {
    expect(looksLikeCopy(file(NOON + 0.4), file(NOON), on(0.000001))).toBe(true);
    expect(looksLikeCopy(file(NOON + 2), file(NOON), on(0.000001))).toBe(false);
  });

  it('is nothing that times tell of where its storage keeps none', () => {
    expect(looksLikeCopy(file(NOON), file(NOON), on(undefined))).toBeUndefined();
    expect(looksLikeCopy(file(NOON, { sizeBytes: undefined }), file(NOON), on(1))).toBeUndefined();
  });

  it('is what their hashes say, whatever their times', () => {
    const [one, other] = [{ hashes: { md5: 'a'.repeat(32) } }, { hashes: { md5: 'b'.repeat(32) } }];
    expect(looksLikeCopy(file(NOON, one), file(NOON + 60_000, one), on(1))).toBe(true);
    expect(looksLikeCopy(file(NOON, one), file(NOON, other), on(1))).toBe(false);
  });
});

it('a file of another size, and a folder, are no copy', () => {
  expect(looksLikeCopy(file(NOON), file(NOON, { sizeBytes: 11 }), on(2_000))).toBe(false);
  expect(looksLikeCopy(file(NOON), file(NOON, { isDirectory: true }), on(2_000))).toBe(false);
});
