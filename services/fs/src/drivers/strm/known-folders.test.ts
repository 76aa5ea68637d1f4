import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { KnownFolders } from './known-folders.ts';

const at = (index: number) => `/folder-${index}` as MountPath;
const keptOf = (known: KnownFolders<{ readonly size: number }>, folders: number) =>
  Array.from({ length: folders }, (_, index) => known.get(at(index))).flatMap((names) => names ?? []);

it('so many names are kept, however many folders are asked for, and however often', () => {
  const known = new KnownFolders<{ readonly size: number }>(1_000);
  for (let round = 0; round < 2; round += 1) for (let index = 0; index < 50; index += 1) known.set(at(index), { size: 300 });
  expect(keptOf(known, 50)).toHaveLength(3);
  expect(known.get(at(49))).toBeDefined();
});

it('the last folder is kept, whatever it has', () => {
  const known = new KnownFolders<{ readonly size: number }>(1_000);
  known.set(at(0), { size: 1 });
  known.set(at(1), { size: 5_000 });
  expect([known.get(at(0)), known.get(at(1))]).toEqual([undefined, { size: 5_000 }]);
});

it('of small folders a hundred are kept', () => {
  const known = new KnownFolders<{ readonly size: number }>();
  for (let index = 0; index < 250; index += 1) known.set(at(index), { size: 1 });
  expect(keptOf(known, 250)).toHaveLength(100);
});
