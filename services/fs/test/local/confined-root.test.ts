import { execFileSync } from 'node:child_process';
import fs, { renameSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ConfinedRoot, openChildFile, openChildFolder } from '../../src/drivers/local/confined-root.ts';
import { DiskWrites } from '../../src/drivers/local/disk-writes.ts';
import { SpelledNames } from '../../src/drivers/local/spelled-names.ts';
import { TempArea } from '../../src/drivers/local/temp-area.ts';
import { at, makeFolders } from './open-local.ts';

it('a walk goes into no link', async () => {
  const { root, outside } = await makeFolders();
  await writeFile(path.join(outside, 'secret'), 'x');
  await symlink(outside, path.join(root, 'folder'));
  await symlink(path.join(outside, 'secret'), path.join(root, 'file'));
  expect(() => openChildFolder(Buffer.from(path.join(root, 'folder')))).toThrow();
  expect(() => openChildFile(Buffer.from(path.join(root, 'file')))).toThrow();
});

it('the way to a folder counts as settled only while no folder above it has changed for a while', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'a/b'), { recursive: true });
  const confined = new ConfinedRoot(root);
  const place = path.join(root, 'a/b');
  const before = confined.chainStamp(place, Date.now() + 1000);
  expect(before).toBeTypeOf('string');
  expect(confined.chainStamp(place, Date.now() - 1000)).toBeUndefined();
  await writeFile(path.join(root, 'a/b/file'), 'x');
  expect(confined.chainStamp(place, Date.now() + 1000)).toBe(before);
  await writeFile(path.join(root, 'a/file'), 'x');
  expect(confined.chainStamp(place, Date.now() + 1000)).not.toBe(before);
});

it('a folder is read for a name with colons only where what would have such a stream is there', async () => {
  const { root } = await makeFolders();
  const names = ['2026-01-01 12:00:00.jpg', '1767225600.M1P2.host,S=10:2,S', 'plan.txt:note'];
  for (const name of [...names, 'plan.txt']) await writeFile(path.join(root, name), 'text');
  const reads = vi.spyOn(SpelledNames.prototype, 'absentIn');
  onTestFinished(() => reads.mockRestore());
  const confined = new ConfinedRoot(root, true, () => false);
  for (const name of names) expect(confined.stat(at(`/${name}`)).stats.size).toBe(4);
  expect(reads.mock.calls.map(([, asked]) => asked)).toEqual([['plan.txt:note']]);
});

it.each(['FILE~1', '$MFT', '.accesslog', 'plan.txt:note'])(
  'on a disk that has one name for each entry no folder is read for %s',
  async (name) => {
    const { root } = await makeFolders();
    for (const file of [name, 'plan.txt']) await writeFile(path.join(root, file), 'text');
    const reads = vi.spyOn(SpelledNames.prototype, 'absentIn');
    onTestFinished(() => reads.mockRestore());
    for (const isExact of [true, false]) expect(new ConfinedRoot(root, true, () => isExact).stat(at(`/${name}`)).stats.size).toBe(4);
    expect(reads).toHaveBeenCalledTimes(1);
  },
);

it('of many names that begin with a dot each removal reads no folder anew, and of short names each does', async () => {
  const { root } = await makeFolders();
  const [dotted, short] = ['._IMG', 'IMG~'].map((begin) => Array.from({ length: 20 }, (_, index) => `${begin}${index}`));
  for (const name of [...(dotted ?? []), ...(short ?? [])]) await writeFile(path.join(root, name), 'text');
  const confined = new ConfinedRoot(root, true, () => false);
  const writes = new DiskWrites(confined, new TempArea(confined), 0o777, undefined);
  const reads = vi.spyOn(fs, 'opendirSync');
  onTestFinished(() => reads.mockRestore());
  for (const name of dotted ?? []) await writes.remove(at(`/${name}`), false, new AbortController().signal);
  expect(reads.mock.calls.length).toBeLessThan(4);
  reads.mockClear();
  for (const name of short ?? []) await writes.remove(at(`/${name}`), false, new AbortController().signal);
  expect(reads).toHaveBeenCalledTimes(20);
  expect(await readdir(root)).toEqual([]);
});

it('where folders cannot be held by handles, the real path decides', async () => {
  const { root, outside } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  await writeFile(path.join(root, 'd/file'), 'hello');
  await writeFile(path.join(outside, 'secret'), 'secret');
  execFileSync('ln', ['-s', outside, path.join(root, 'out')]);
  execFileSync('ln', ['-s', 'd', path.join(root, 'in')]);
  const confined = new ConfinedRoot(root, false);
  expect(confined.stat(at('/in/file')).stats.size).toBe(5);
  expect(confined.stat(at('/in'))).toMatchObject({ isLink: true });
  expect(confined.stat(at('/out')).stats.isSymbolicLink()).toBe(true);
  for (const act of [
    () => confined.holdFolder(at('/out')),
    () => confined.stat(at('/out/secret')),
    () => confined.openFile(at('/out/secret')),
  ]) {
    expect(act).toThrow('object not found');
  }
  const held = confined.holdFolder(at('/d'));
  execFileSync('sh', ['-c', 'mv "$0/d" "$0/was" && ln -s "$1" "$0/d"', root, outside]);
  expect(() => held.recheck()).toThrow('object not found');
});

it('a file is not given its name in a folder that was moved to where others may see it', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'in/folder'), { recursive: true });
  class Moved extends ConfinedRoot {
    /** The last that is asked before the name is given. */
    override isOtherSpelling(...asked: Parameters<ConfinedRoot['isOtherSpelling']>): boolean {
      renameSync(path.join(root, 'in/folder'), path.join(root, 'out'));
      return super.isOtherSpelling(...asked);
    }
  }
  const confined = new Moved(root);
  const writes = new DiskWrites(confined, new TempArea(confined), 0o777, undefined);
  const { temp, fd } = await writes.beginWrite(at('/in/folder/hidden'), true);
  await expect(writes.publish(temp, fd, at('/in/folder/hidden'), true)).rejects.toMatchObject({ code: 'STALE_VERSION' });
  expect(await readdir(path.join(root, 'out'))).toEqual([]);
});
