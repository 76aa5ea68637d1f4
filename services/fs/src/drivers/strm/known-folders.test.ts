import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { KnownFolders, knownNames } from './known-folders.ts';

const at = (index: number) => `/folder-${index}` as MountPath;
const keptOf = (known: KnownFolders<{ readonly size: number }>, folders: number) =>
  Array.from({ length: folders }, (_, index) => known.get(at(index))).flatMap((names) => names ?? []);

it('so many names are kept, however many folders are asked for, and however often', () => {
  const known = new KnownFolders<{ readonly size: number }>(knownNames(1_000));
  for (let round = 0; round < 2; round += 1) for (let index = 0; index < 50; index += 1) known.set(at(index), { size: 300 });
  expect(keptOf(known, 50)).toHaveLength(3);
  expect(known.get(at(49))).toBeDefined();
});

it('so many are kept of all storages together, each its own', () => {
  const all = knownNames(1_000);
  const storages = Array.from({ length: 20 }, () => new KnownFolders<{ readonly size: number }>(all));
  for (const known of storages) known.set(at(0), { size: 300 });
  expect(storages.flatMap((known) => keptOf(known, 1))).toHaveLength(3);
});

it('of a folder with more names none are kept', () => {
  const known = new KnownFolders<{ readonly size: number }>(knownNames(1_000));
  known.set(at(1), { size: 5_000 });
  expect(known.get(at(1))).toBeUndefined();
});

it('of small folders some are kept', () => {
  const known = new KnownFolders<{ readonly size: number }>(knownNames(100_000, 100));
  for (let index = 0; index < 250; index += 1) known.set(at(index), { size: 1 });
  expect(keptOf(known, 250)).toHaveLength(100);
});
