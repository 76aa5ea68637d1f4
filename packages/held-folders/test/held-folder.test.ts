import { execFileSync } from 'node:child_process';
import type { Dir } from 'node:fs';
import fs, { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type HeldFolder, holdFolder } from '../src/index.ts';

let dir: TempDir;
let held: HeldFolder;
beforeEach(async () => {
  dir = await makeTempDir('held-folder');
  await mkdir(join(dir.path, 'held'));
  held = await holdFolder(join(dir.path, 'held'));
});
afterEach(async () => {
  await held.close();
  await dir.remove();
});

it('is the same folder when its name leads elsewhere', async () => {
  await writeFile(join(dir.path, 'held', 'a'), 'inside');
  await rename(join(dir.path, 'held'), join(dir.path, 'moved'));
  await mkdir(join(dir.path, 'held'));
  await writeFile(join(dir.path, 'held', 'a'), 'outside');
  const file = await held.openFile('a');
  expect(await file.readFile('utf8')).toBe('inside');
  await file.close();
  await held.remove('a');
  expect([await readdir(join(dir.path, 'moved')), await readdir(join(dir.path, 'held'))]).toEqual([[], ['a']]);
});

it('follows no link', async () => {
  await mkdir(join(dir.path, 'outside', 'inner'), { recursive: true });
  await writeFile(join(dir.path, 'outside', 'a'), 'outside');
  await symlink(join(dir.path, 'outside'), join(dir.path, 'held', 'folder'));
  await symlink(join(dir.path, 'outside', 'a'), join(dir.path, 'held', 'file'));
  await expect(held.openFolder('folder')).rejects.toThrow();
  await expect(held.makeFolder('folder')).rejects.toThrow();
  await expect(held.openFile('file')).rejects.toThrow();
  await expect(held.writeFile('file', Buffer.from('x'))).rejects.toMatchObject({ code: 'EEXIST' });
  for (const name of ['folder', 'file']) await held.remove(name);
  expect(await held.entries()).toEqual([]);
  expect(await readFile(join(dir.path, 'outside', 'a'), 'utf8')).toBe('outside');
  expect(await readdir(join(dir.path, 'outside'))).toEqual(['a', 'inner']);
});

it('takes names and no paths', async () => {
  await writeFile(join(dir.path, 'a'), '');
  for (const name of ['', '.', '..', '../a', '/etc/passwd', 'a\0']) {
    await expect(held.openFile(name)).rejects.toMatchObject({ code: 'EINVAL' });
    await expect(held.remove(name)).rejects.toMatchObject({ code: 'EINVAL' });
  }
});

it.runIf(process.platform === 'linux')('does not wait for a pipe', async () => {
  execFileSync('mkfifo', [join(dir.path, 'held', 'pipe')]);
  await expect(held.openFile('pipe')).rejects.toMatchObject({ code: 'EINVAL' });
});

it('names need not be UTF-8', async () => {
  const name = Buffer.from([0x66, 0xff]);
  await held.writeFile(name, Buffer.from('x'));
  expect((await held.entries()).map((entry) => entry.name)).toEqual([name]);
  await held.remove(name);
  expect(await held.entries()).toEqual([]);
});

it('removes a tree that is deeper than the folders it holds, and wide down there', async () => {
  const deep = join(dir.path, 'held', ...Array.from({ length: 255 }, () => 'd'));
  await mkdir(deep, { recursive: true });
  for (let index = 0; index < 1_100; index += 1) {
    await mkdir(join(deep, `${index}`));
    await writeFile(join(deep, `${index}`, 'file'), '');
  }
  await held.remove('d');
  expect(await held.entries()).toEqual([]);
});

it('removes a folder as it is read, not when all of it has been', async () => {
  await mkdir(join(dir.path, 'held', 'wide'));
  for (let index = 0; index < 1_000; index += 1) await writeFile(join(dir.path, 'held', 'wide', `${index}`), '');
  let read = 0;
  let readAtFirst = 0;
  const [opendir, unlink] = [fs.opendir, fs.unlink];
  const counted = async function* (entries: Dir) {
    for await (const entry of entries) {
      read += 1;
      yield entry;
    }
  };
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(fs, 'opendir').mockImplementation(async (...asked) => counted(await opendir(...asked)) as unknown as Dir);
  vi.spyOn(fs, 'unlink').mockImplementation(async (path) => {
    readAtFirst ||= read;
    await unlink(path);
  });
  await held.remove('wide');
  expect([read, readAtFirst]).toEqual([1_000, 1]);
  expect(await held.entries()).toEqual([]);
});
