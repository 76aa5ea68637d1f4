import fs from 'node:fs';
import { mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { currentOwner } from '@wharf/owned-names';
import { expect, it } from 'vitest';
import { newAsideName } from '../../src/driver-contract/temp-names.ts';
import { ConfinedRoot } from '../../src/drivers/local/confined-root.ts';
import { removeAside } from '../../src/drivers/local/remove-aside.ts';
import { at, codeOf, makeFolders, namesIn, openLocal, put, textOf } from './open-local.ts';

const NAMES = [['short'], ['x'.repeat(200)]];
/** No process has this number. */
const ENDED = { ...currentOwner(), pid: 4_194_305 };

async function lookedAt(name: string) {
  const { root } = await makeFolders();
  const place = path.join(root, name);
  await writeFile(place, 'before');
  const confined = new ConfinedRoot(root);
  const folder = confined.holdFolder(at('/'));
  return { root, confined, place, folder, seen: fs.lstatSync(place) };
}

it.each(NAMES)('a file that took the place of the one that was looked at has its name again: %s', async (name) => {
  const { root, confined, place, folder, seen } = await lookedAt(name);
  await writeFile(path.join(root, 'new'), 'acknowledged');
  await rename(path.join(root, 'new'), place);
  expect(() => removeAside(confined, folder, { name, seen }, fs.unlinkSync)).toThrow(expect.objectContaining({ code: 'STALE_VERSION' }));
  expect(await readdir(root)).toEqual([name]);
  expect(await readFile(place, 'utf8')).toBe('acknowledged');
  folder.close();
});

it.each(NAMES)('a file that was written in its place stays, and so does a folder: %s', async (name) => {
  const { root, confined, place, folder, seen } = await lookedAt(name);
  await writeFile(place, 'acknowledged');
  expect(() => removeAside(confined, folder, { name, seen }, fs.unlinkSync)).toThrow(expect.objectContaining({ code: 'STALE_VERSION' }));
  expect(await readFile(place, 'utf8')).toBe('acknowledged');
  fs.unlinkSync(place);
  await mkdir(place);
  await writeFile(path.join(place, 'inner'), 'text');
  expect(() => removeAside(confined, folder, { name, seen }, fs.unlinkSync)).toThrow(expect.objectContaining({ code: 'STALE_VERSION' }));
  expect(await readFile(path.join(place, 'inner'), 'utf8')).toBe('text');
  expect(await readdir(root)).toEqual([name]);
  folder.close();
});

it.each(NAMES)('what cannot be removed, and has lost its name to something else, has one beside it: %s', async (name) => {
  const { root, confined, place, folder, seen } = await lookedAt(name);
  const refuse = () => {
    fs.writeFileSync(place, 'new');
    throw new Error('not now');
  };
  expect(() => removeAside(confined, folder, { name, seen }, refuse)).toThrow('not now');
  const [first, second, ...others] = (await readdir(root)).toSorted();
  expect([first, others]).toEqual([name, []]);
  expect(second).toMatch(/\.kept-[0-9a-f]{8}$/);
  expect(await readFile(place, 'utf8')).toBe('new');
  expect(await readFile(path.join(root, second ?? ''), 'utf8')).toBe('before');
  folder.close();
});

it.each(NAMES)('what lies aside of a process that has ended is back after a listing, unless something has its name: %s', async (name) => {
  const { root } = await makeFolders();
  const aside = async (content: string) => {
    const { name: outer, isFolder } = newAsideName(ENDED, name, Date.now());
    if (isFolder) await mkdir(path.join(root, outer));
    await writeFile(isFolder ? path.join(root, outer, name) : path.join(root, outer), content);
    return outer;
  };
  await aside('moved');
  const driver = await openLocal(root);
  await namesIn(driver, '/');
  expect(await readdir(root)).toEqual([name]);
  expect(await textOf(driver, `/${name}`)).toBe('moved');
  const other = await aside('another');
  expect(await namesIn(driver, '/')).toEqual([name]);
  expect((await readdir(root)).toSorted()).toEqual([other, name].toSorted());
});

it('nothing that is stored through another storage of the folder meanwhile is lost', async () => {
  const { root } = await makeFolders();
  const [removing, storing] = [await openLocal(root), await openLocal(root)];
  for (let round = 0; round < 300; round += 1) {
    await put(removing, '/file', 'before');
    const onlyIf = await removing.stat(at('/file'));
    const [removed] = await Promise.all([
      codeOf(removing.remove(at('/file'), { recursive: false, onlyIf })),
      put(storing, '/file', 'acknowledged'),
    ]);
    expect(['done', 'STALE_VERSION']).toContain(removed);
    expect(await readFile(path.join(root, 'file'), 'utf8')).toBe('acknowledged');
  }
  expect((await readdir(root)).filter((name) => name !== '.wharf-tmp')).toEqual(['file']);
});

it('a removed file goes to the recycle bin under its name', async () => {
  const { root, outside } = await makeFolders();
  const driver = await openLocal(root, { recycle_bin_path: outside });
  await put(driver, '/file', 'text');
  await driver.remove(at('/file'), { recursive: false, onlyIf: await driver.stat(at('/file')) });
  expect([await namesIn(driver, '/'), await readdir(outside)]).toEqual([[], ['file']]);
  expect((await stat(path.join(outside, 'file'))).size).toBe(4);
});

it('nothing is brought back from where a link leads', async () => {
  const { root, outside } = await makeFolders();
  await writeFile(path.join(outside, 'secret'), 'text');
  const { name: outer } = newAsideName(ENDED, 'x'.repeat(200), Date.now());
  await symlink(outside, path.join(root, outer));
  expect(await namesIn(await openLocal(root), '/')).toEqual([]);
  expect([await readdir(root), await readdir(outside)]).toEqual([[outer], ['secret']]);
});
