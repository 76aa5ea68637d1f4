import type { EntryName, MountPath } from '@wharf/paths';
import { expect, it, vi } from 'vitest';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import { PackedNames } from '../../driver-contract/packed-names.ts';
import { tooManyFolders } from '../../driver-contract/walk-bound.ts';
import { createKeys } from './keys.ts';
import { ListedTree } from './list-tree.ts';

const DATE = new Date(0);
const make = {
  file: (name: EntryName) => ({ name, isDirectory: false, sizeBytes: 1, modifiedAt: DATE }),
  folder: (name: EntryName) => ({ name, isDirectory: true, sizeBytes: 0, modifiedAt: DATE }),
};
const openTree = (maxBytes?: number) => {
  const keys = createKeys({ keyPrefix: 'root/', placeholder: '.wharf' as EntryName });
  return new ListedTree(keys, make, '/' as MountPath, 'root/', createListingRoom(maxBytes).enter(tooManyFolders).take);
};
const placedBy = (tree: ListedTree, ...keys: string[]) =>
  keys.flatMap((key) => [...tree.entriesOf({ key, sizeBytes: 1, modifiedAt: DATE, version: 'x' })].map(({ path }) => path as string));

it('a folder is told once, before what is in it, in whatever order the store names the keys', () => {
  const tree = openTree();
  const keys = ['root/a/b/c', 'root/a/.wharf', 'root/d', 'root/d/hidden', 'root/a/e', 'root/../x', 'root//y', 'root/f/'];
  expect(placedBy(tree, ...keys)).toEqual(['/a', '/a/b', '/a/b/c', '/d', '/a/e', '/f']);
});

it.each(['..', ''])('of what is below a folder that is not shown (%j) nothing is kept, however deep it is', (hidden) => {
  const kept = (levels: number) => {
    const tree = openTree();
    const setting = vi.spyOn(PackedNames.prototype, 'add');
    const paths = placedBy(tree, ...Array.from({ length: 10 }, (_, index) => `root/${hidden}/${index}/${'a/'.repeat(levels)}x`));
    const count = setting.mock.calls.length;
    setting.mockRestore();
    expect(paths).toEqual([]);
    return count;
  };
  expect([100, 200, 400].map(kept)).toEqual([0, 0, 0]);
});

it('folders are remembered up to a bound in bytes, files are not counted', () => {
  const tree = openTree(300_000);
  expect(placedBy(tree, ...Array.from({ length: 1_000 }, (_, index) => `root/a/file-${index}`))).toHaveLength(1_001);
  let told = 0;
  const walk = () => {
    for (; told < 10_000; told += 1) placedBy(tree, `root/folder-${told}/x`);
  };
  expect(walk).toThrow('more folders than one walk remembers');
  expect(told).toBeLessThan(8_000);
});
