import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { KnownFolders } from './known-folders.ts';

const at = (index: number) => `/folder-${index}` as MountPath;
const namesOf = (count: number, letters = 4) =>
  new Map(Array.from({ length: count }, (_, index) => [`${index}`.padStart(letters, '-'), index]));
const keptOf = (known: KnownFolders<ReadonlyMap<string, number>>, folders: number) =>
  Array.from({ length: folders }, (_, index) => known.get(at(index))).flatMap((names) => names ?? []);

it('what names take is kept, however many folders are asked for, and however often', () => {
  const known = new KnownFolders<ReadonlyMap<string, number>>(100_000);
  for (let round = 0; round < 2; round += 1) for (let index = 0; index < 50; index += 1) known.set(at(index), namesOf(100));
  expect(keptOf(known, 50)).toHaveLength(3);
  expect(known.get(at(49))).toBeDefined();
  for (let index = 0; index < 50; index += 1) known.set(at(index), namesOf(100, 150));
  expect(keptOf(known, 50)).toHaveLength(1);
});

it('a folder that is too large is not, and takes the place of no other', () => {
  const known = new KnownFolders<ReadonlyMap<string, number>>(100_000);
  known.set(at(0), namesOf(1));
  known.set(at(1), namesOf(5_000));
  expect([known.get(at(0))?.size, known.get(at(1))]).toEqual([1, undefined]);
});

it('of small folders a hundred are kept', () => {
  const known = new KnownFolders<ReadonlyMap<string, number>>();
  for (let index = 0; index < 250; index += 1) known.set(at(index), namesOf(1));
  expect(keptOf(known, 250)).toHaveLength(100);
});
