import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listResults, removeResult, toolFolder, walkResult } from '../src/tools/tool-folder.ts';

let dir: TempDir;
let folder: string;
beforeEach(async () => {
  dir = await makeTempDir('tool-folder');
  folder = toolFolder(dir.path, 'aria2', 'task-1');
  await mkdir(folder, { recursive: true });
});
afterEach(() => dir.remove());

it('a task has a folder of its own, whatever its id says', () => {
  for (const id of ['..', 'a/b', '', 'a\0', '.']) expect(() => toolFolder(dir.path, 'aria2', id)).toThrowError();
});

it('results are what is in the folder: no control files, no links', async () => {
  await writeFile(join(dir.path, 'secret'), 'secret');
  await mkdir(join(folder, 'show', 'season'), { recursive: true });
  await writeFile(join(folder, 'show', 'season', 'b.bin'), 'bb');
  await writeFile(join(folder, 'show', 'a.bin'), 'a');
  await writeFile(join(folder, 'show', 'x.aria2'), '');
  await writeFile(join(folder, 'show.aria2'), '');
  await writeFile(join(folder, `${'a'.repeat(40)}.torrent`), '');
  await symlink(join(dir.path, 'secret'), join(folder, 'show', 'link'));
  await symlink(dir.path, join(folder, 'show', 'folder-link'));
  await symlink(join(dir.path, 'secret'), join(folder, 'top-link'));
  expect(await listResults(folder)).toEqual(['show']);
  expect((await walkResult(folder, 'show')).files.map(({ names, sizeBytes }) => [names.join('/'), sizeBytes])).toEqual([
    ['show/a.bin', 1],
    ['show/season/b.bin', 2],
  ]);
  expect(await walkResult(folder, 'top-link')).toEqual({ files: [], emptyFolders: [] });
});

it('folders with nothing in them that could be kept are results too', async () => {
  await mkdir(join(folder, 'show', 'empty', 'deep'), { recursive: true });
  await mkdir(join(folder, 'show', 'links'));
  await symlink(dir.path, join(folder, 'show', 'links', 'out'));
  await mkdir(join(folder, 'show', 'full'));
  await writeFile(join(folder, 'show', 'full', 'a'), 'a');
  await mkdir(join(folder, 'alone'));
  expect((await walkResult(folder, 'show')).emptyFolders).toEqual([
    ['show', 'empty', 'deep'],
    ['show', 'links'],
  ]);
  expect(await walkResult(folder, 'alone')).toEqual({ files: [], emptyFolders: [['alone']] });
});

it('names on the disk are made safe', async () => {
  await mkdir(join(folder, 'back\\slash'));
  await writeFile(join(folder, 'back\\slash', 'a\nb'), '');
  await writeFile(join(folder, 'back\\slash', 'CON'), '');
  expect((await walkResult(folder, 'back\\slash')).files.map(({ names }) => names)).toEqual([
    ['slash', '_CON'],
    ['slash', 'ab'],
  ]);
});

it('nothing outside is read or removed', async () => {
  await writeFile(join(dir.path, 'canary'), '');
  for (const name of ['..', '.', '../canary', '../../canary', '/etc']) {
    await expect(walkResult(folder, name)).rejects.toThrowError();
    await removeResult(folder, name);
  }
  expect(await readdir(dir.path)).toContain('canary');
  await writeFile(join(folder, 'x'), '');
  await removeResult(folder, 'x');
  expect(await readdir(join(dir.path, 'aria2'))).toEqual([]);
});
