import { forgetCaches } from '@wharf/pace';
import type { EntryName, VirtualPath } from '@wharf/paths';
import { expect, it, vi } from 'vitest';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { countWork } from '../testing/count-work.ts';
import { usedBytes } from '../testing/used-bytes.ts';
import { createKeptFolders } from './kept-folders.ts';
import { readListedEntries } from './listed-entries.ts';

async function* named(count: number, nameOf: (index: number) => string, isDirectory = false): AsyncGenerator<Entry, void> {
  for (let index = 0; index < count; index += 1)
    yield { name: nameOf(index) as EntryName, isDirectory, sizeBytes: 1, modifiedAt: new Date(0) };
}

it.each([
  ['usual', (index: number) => `picture ${index}.jpg`],
  ['long', (index: number) => String(index).padStart(255, 'n')],
])('of folders with names that are %s as many are kept as there is memory for, the last ones', async (_, nameOf) => {
  const kept = createKeptFolders();
  const entries = await readListedEntries(named(5_000, nameOf));
  const folders = Math.ceil((60 * 1024 * 1024) / entries.bytes);
  for (let folder = 0; folder < folders; folder += 1) kept.keep(`1 /${folder}`, { entries, readAt: 0, begunAt: 0, changedAt: new Map() });
  const left = Array.from({ length: folders }, (_unused, folder) => kept.get(`1 /${folder}`) !== undefined);
  const keptMib = (left.filter(Boolean).length * entries.bytes) / 1024 ** 2;
  expect(keptMib).toBeLessThanOrEqual(40);
  expect(keptMib).toBeGreaterThan(35);
  expect([left[0], left.at(-1)]).toEqual([false, true]);
});

it('of small folders with long paths fewer are kept (C18)', async () => {
  const kept = createKeptFolders();
  const entries = await readListedEntries(named(1, String));
  const pathOf = (folder: number) => `1 /${'d'.repeat(3_800)}/${folder}`;
  for (let folder = 0; folder < 4_000; folder += 1) kept.keep(pathOf(folder), { entries, readAt: 0, begunAt: 0, changedAt: new Map() });
  const left = Array.from({ length: 4_000 }, (_unused, folder) => kept.get(pathOf(folder)) !== undefined).filter(Boolean).length;
  expect(left).toBeGreaterThan(2_000);
  expect(left).toBeLessThan(3_000);
});

it('when memory is short all folders are forgotten, and others are kept after that', async () => {
  const kept = createKeptFolders();
  const entries = await readListedEntries(named(1, String));
  const keep = (key: string) => kept.keep(key, { entries, readAt: 0, begunAt: 0, changedAt: new Map() });
  keep('1 /a/b');
  expect(forgetCaches()).toBe(true);
  expect(kept.get('1 /a/b')).toBeUndefined();
  keep('1 /a/b');
  kept.forget(['/a' as VirtualPath]);
  expect(kept.get('1 /a/b')).toBeUndefined();
});

it('many folders are forgotten at once without a list of them, of which each would be taken from its front', async () => {
  const kept = createKeptFolders();
  const entries = await readListedEntries(named(1, String));
  for (let index = 0; index < 2_000; index += 1) kept.keep(`1 /${index}`, { entries, readAt: 0, begunAt: 0, changedAt: new Map() });
  const shift = vi.spyOn(Array.prototype, 'shift');
  let longest = 0;
  shift.mockImplementation(function (this: unknown[]) {
    longest = Math.max(longest, this.length);
    return this.splice(0, 1)[0];
  });
  forgetCaches();
  shift.mockRestore();
  expect(longest).toBeLessThan(100);
  expect(kept.get('1 /1999')).toBeUndefined();
});

it('the ways to deep folders count in what is kept', () => {
  const kept = createKeptFolders();
  const folderWith = (letters: number) => ({
    ...{ version: 'v', order: '' },
    folder: { names: ['n'.repeat(letters) as EntryName], isDirectory: () => true, entries: async () => [] },
  });
  const keepBesides = (top: string, below: string) => {
    kept.keep('1 /big', folderWith(36 * 1024 ** 2));
    for (let index = 0; index < 10; index += 1) kept.keep(`1 /${top}/${index}${below}`, folderWith(1));
    return kept.get('1 /big') !== undefined;
  };
  expect([keepBesides('flat', '/d'), keepBesides('deep', '/d'.repeat(2_000))]).toEqual([true, false]);
});

it('the way to thousands of entries of a deep folder is gone once, and each is forgotten', () => {
  const kept = createKeptFolders();
  const deep = '/d'.repeat(500);
  const keep = (path: string) =>
    kept.keep(`1 ${path}`, {
      version: 'v',
      order: '',
      folder: { names: [], isDirectory: () => true, entries: async () => [] },
    });
  const paths = Array.from({ length: 2_000 }, (_, index) => `${deep}/${index}` as VirtualPath);
  const [first = deep, last = deep] = [paths[0], paths.at(-1)];
  for (const path of ['/', '/d', deep, first, last, `${deep}/other`]) keep(path);
  const isKept = (path: string) => kept.get(`1 ${path}`) !== undefined;
  expect(countWork(() => kept.forget(paths))).toBeLessThan(50 * paths.length);
  expect(paths.some(isKept)).toBe(false);
  expect(['/', '/d', deep, `${deep}/other`].map(isKept)).toEqual([true, true, false, true]);
});

it('what is kept of deep folders is forgotten with the topmost, without the way to each', () => {
  const kept = createKeptFolders();
  const folder = { names: [], isDirectory: () => true, entries: async () => [] };
  const keys = Array.from({ length: 200 }, (_, index) => `1 /top/${index}${'/d'.repeat(1_000)}`);
  for (const key of [...keys, '1 /other']) kept.keep(key, { version: 'v', order: '', folder });
  // The keys themselves are looked up twice.
  expect(countWork(() => kept.forget(['/top' as VirtualPath]))).toBeLessThan(3 * keys.join('').length);
  expect(keys.some((key) => kept.get(key))).toBe(false);
  expect(kept.get('1 /other')).toBeDefined();
});

it('of what changed in a folder and below it the names are kept, not the paths (C18)', async () => {
  const kept = createKeptFolders();
  const nameOf = (index: number) => `folder-number-${index}`;
  const top = `/${'t'.repeat(250)}`.repeat(7);
  // Made elsewhere, as those of requests and of storages are.
  const apart = <Text extends string>(text: string) => Buffer.from(text).toString() as Text;
  const keep = async (path: string, count: number) =>
    kept.keep(`1 ${path}`, {
      entries: await readListedEntries(named(count, nameOf, true)),
      readAt: 0,
      begunAt: kept.now(),
      changedAt: new Map(),
    });
  const change = (path: string, nameAt: number, entry: Entry | undefined) =>
    kept.take({ key: `1 ${path}`, path: apart(`${path}/${nameOf(nameAt)}`), entry, since: kept.now() });
  await keep('/many', 5_000);
  for (const folder of [0, 1, 2, 3, 4]) await keep(`${top}/${folder}`, 900);
  await keep(`${top}/gone`, 5_000);
  const before = usedBytes();
  for (let index = 0; index < 5_000; index += 1) {
    kept.forget([apart(`/many/${nameOf(index)}${top}`)]);
    const folder = `${top}/${index % 5}`;
    const name = apart<string>(`${folder}/${nameOf(Math.floor(index / 5))}`).slice(folder.length + 1) as EntryName;
    change(folder, Math.floor(index / 5), { name, isDirectory: true, sizeBytes: 0, modifiedAt: new Date(0) });
    change(`${top}/gone`, index, undefined);
  }
  // The paths have 9 MB each time, what is noted of 15,000 changes 3 MB.
  expect(usedBytes() - before).toBeLessThan(7_000_000);
  expect(['/many', `${top}/0`].map((path) => kept.get(`1 ${path}`) !== undefined)).toEqual([true, true]);
});
