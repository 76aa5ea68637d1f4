import { access, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isSameFolder, type ToolFile, type ToolFolder, toolFolder } from '../src/tools/tool-folder.ts';

let dir: TempDir;
let task: ToolFolder;
let folder: string;
beforeEach(async () => {
  dir = await makeTempDir('tool-folder');
  task = toolFolder(dir.path, 'aria2', 'task-1');
  folder = task.path;
  await task.make();
});
afterEach(() => dir.remove());

it('a result whose name is as long as a name may be goes like any other', async () => {
  const name = 'n'.repeat(255);
  await writeFile(join(folder, name), '');
  await task.removeResult(name);
  await expect(access(folder)).rejects.toThrow('ENOENT');
});

it('a task has a folder of its own, whatever its id says', () => {
  for (const id of ['..', 'a/b', '', 'a\0', '.']) expect(() => toolFolder(dir.path, 'aria2', id)).toThrowError();
});

it('results are what is in the folder: no control files, no links', async () => {
  await writeFile(join(dir.path, 'secret'), 'secret');
  await mkdir(join(folder, 'show', 'season'), { recursive: true });
  await writeFile(join(folder, 'show', 'season', 'b.bin'), 'bb');
  await writeFile(join(folder, 'show', 'a.bin'), 'a');
  await writeFile(join(folder, 'show.aria2'), '');
  await writeFile(join(folder, `${'a'.repeat(40)}.torrent`), '');
  await symlink(join(dir.path, 'secret'), join(folder, 'show', 'link'));
  await symlink(dir.path, join(folder, 'show', 'folder-link'));
  await symlink(join(dir.path, 'secret'), join(folder, 'top-link'));
  expect(await task.list()).toEqual(['show']);
  expect((await task.walk('show')).files.map(({ names, sizeBytes }) => [names.join('/'), sizeBytes])).toEqual([
    ['show/a.bin', 1],
    ['show/season/b.bin', 2],
  ]);
  expect(await task.walk('top-link')).toMatchObject({ files: [], emptyFolders: [] });
});

it.each(['aria2', 'qBittorrent', 'Transmission'])('what %s downloaded is a result, whatever it is called', async (tool) => {
  const made = toolFolder(dir.path, tool, 'task-2');
  await made.make();
  await mkdir(join(made.path, 'show'));
  const names = ['a.part', 'b.!qB', 'c.aria2', `${'d'.repeat(40)}.torrent`];
  for (const name of names) await writeFile(join(made.path, 'show', name), name);
  expect((await made.walk('show')).files.map((file) => file.names.at(-1))).toEqual(names);
  for (const name of names) {
    const alone = toolFolder(dir.path, tool, `task-${names.indexOf(name) + 3}`);
    await alone.make((held) => held.writeFile(name, Buffer.from(name)));
    expect(await alone.list()).toEqual([name]);
  }
});

it('one result does not go with another one that is called like its control file', async () => {
  const made = toolFolder(dir.path, 'qBittorrent', 'task-2');
  await made.make();
  for (const name of ['show', 'show.aria2']) await writeFile(join(made.path, name), name);
  expect(await made.list()).toEqual(['show', 'show.aria2']);
  await made.removeResult('show');
  expect(await made.list()).toEqual(['show.aria2']);
});

it('with the last result goes what is none: no task knows of it', async () => {
  for (const name of ['a', 'a.aria2', 'b', `${'d'.repeat(40)}.torrent`]) await writeFile(join(folder, name), name);
  await symlink(join(dir.path, 'secret'), join(folder, 'link'));
  await task.removeResult('a');
  expect((await readdir(folder)).sort()).toEqual(['b', `${'d'.repeat(40)}.torrent`, 'link']);
  await task.removeResult('b');
  await expect(access(folder)).rejects.toThrow('ENOENT');
  await task.removeResult('b');
});

it('of results that are all called like what aria2 keeps for itself none goes with another', async () => {
  const names = ['a', 'b'].map((letter) => `${letter.repeat(40)}.torrent`);
  for (const name of names) await writeFile(join(folder, name), name);
  expect(await task.list()).toEqual(names);
  await task.removeResult(names[0] ?? '');
  expect(await task.list()).toEqual(names.slice(1));
  await task.removeResult(names[1] ?? '');
  await expect(access(folder)).rejects.toThrow('ENOENT');
});

it('folders with nothing in them that could be kept are results too', async () => {
  await mkdir(join(folder, 'show', 'empty', 'deep'), { recursive: true });
  await mkdir(join(folder, 'show', 'links'));
  await symlink(dir.path, join(folder, 'show', 'links', 'out'));
  await mkdir(join(folder, 'show', 'full'));
  await writeFile(join(folder, 'show', 'full', 'a'), 'a');
  await mkdir(join(folder, 'alone'));
  expect((await task.walk('show')).emptyFolders.map(({ names }) => names)).toEqual([
    ['show', 'empty', 'deep'],
    ['show', 'links'],
  ]);
  const { files, emptyFolders } = await task.walk('alone');
  expect([files, emptyFolders.map(({ names }) => names)]).toEqual([[], [['alone']]]);
});

it('files that are deep down take little memory', async () => {
  const collect = () => {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };
  const deep = join(folder, 'show', ...Array.from({ length: 60 }, () => 'd'));
  await mkdir(deep, { recursive: true });
  for (let index = 0; index < 5_000; index += 1) await writeFile(join(deep, `${index}`), '');
  const beforeBytes = collect();
  const { files } = await task.walk('show');
  const bytesEach = (collect() - beforeBytes) / files.length;
  expect(files).toHaveLength(5_000);
  expect(bytesEach).toBeLessThan(500);
  const last = files.at(-1);
  expect([last?.names.length, await textOf(last as ToolFile)]).toEqual([62, '']);
});

it('more results, and more files in one, than anybody downloads are refused', async () => {
  const small = toolFolder(dir.path, 'aria2', 'task-1', { results: 2, entries: 4 });
  for (const name of ['a', 'a.aria2', 'b', 'b.aria2']) await mkdir(join(folder, name));
  expect(await small.list()).toEqual(['a', 'b']);
  await mkdir(join(folder, 'c'));
  await expect(small.list()).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', message: 'there are more than 2 results' });

  await mkdir(join(folder, 'a', 'inner'));
  for (const name of ['1', '2', 'inner/3']) await writeFile(join(folder, 'a', name), '');
  expect((await small.walk('a')).files).toHaveLength(3);
  await writeFile(join(folder, 'a', 'inner', '4'), '');
  await expect(small.walk('a')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('more than 4 files') });
});

it('names on the disk are made safe', async () => {
  await mkdir(join(folder, 'back\\slash'));
  await writeFile(join(folder, 'back\\slash', 'a\nb'), '');
  await writeFile(join(folder, 'back\\slash', 'CON'), '');
  expect((await task.walk('back\\slash')).files.map(({ names }) => names)).toEqual([
    ['slash', '_CON'],
    ['slash', 'ab'],
  ]);
});

it('nothing outside is read or removed', async () => {
  await writeFile(join(dir.path, 'canary'), '');
  for (const name of ['..', '.', '../canary', '../../canary', '/etc']) {
    await expect(task.walk(name)).rejects.toThrowError();
    await task.removeResult(name);
  }
  expect(await readdir(dir.path)).toContain('canary');
  await writeFile(join(folder, 'x'), '');
  await task.removeResult('x');
  expect(await readdir(join(dir.path, 'aria2'))).toEqual([]);
});

const SECRET = 'the secret outside';

async function textOf({ place }: ToolFile): Promise<string> {
  const handle = await task.open(place);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** A folder beside that of the tools, which nobody may get at by way of a tool. */
async function makeOutside(): Promise<string> {
  const outside = join(dir.path, 'outside');
  await mkdir(join(outside, 'show'), { recursive: true });
  for (const name of ['film', 'show/a', 'kept']) await writeFile(join(outside, name), SECRET);
  return outside;
}

const isUntouched = async (outside: string) =>
  Promise.all(['film', 'show/a', 'kept'].map(async (name) => expect(await readFile(join(outside, name), 'utf8')).toBe(SECRET)));

it.each([
  ['the folder of the task', async () => folder],
  ['the folder of the tool', async () => join(folder, '..')],
])('C4: %s that has become a link leads to nothing', async (_what, placeOf) => {
  const outside = await makeOutside();
  const place = await placeOf();
  await rm(place, { recursive: true });
  await mkdir(join(outside, 'task-1'));
  await writeFile(join(outside, 'task-1', 'film'), SECRET);
  await symlink(outside, place);
  const refused = { code: 'FAILED_PRECONDITION' };
  await expect(task.make()).rejects.toMatchObject(refused);
  await expect(task.list()).rejects.toMatchObject(refused);
  await expect(task.walk('film')).rejects.toMatchObject(refused);
  await expect(task.open(['film'])).rejects.toMatchObject(refused);
  await expect(task.removeResult('film')).rejects.toMatchObject(refused);
  // A link in the place of what is to be removed is removed itself.
  await task.remove().catch(() => undefined);
  await isUntouched(outside);
  await access(join(outside, 'task-1', 'film'));
});

it('C4: an entry that is exchanged for a link after it was looked at is not read', async () => {
  const outside = await makeOutside();
  await mkdir(join(folder, 'show'));
  for (const name of ['film', 'show/a']) await writeFile(join(folder, name), 'a film, a long');
  const [film] = (await task.walk('film')).files;
  const [inShow] = (await task.walk('show')).files;
  if (!film || !inShow) throw new Error('nothing was found');
  expect([await textOf(film), await textOf(inShow)]).toEqual(['a film, a long', 'a film, a long']);
  for (const name of ['film', 'show']) {
    await rename(join(folder, name), join(folder, `${name}-before`));
    await symlink(join(outside, name), join(folder, name));
  }
  await expect(textOf(film)).rejects.toThrow();
  await expect(textOf(inShow)).rejects.toThrow();
  expect(await task.walk('show')).toMatchObject({ files: [], emptyFolders: [] });
  for (const name of ['film', 'show']) await task.removeResult(name);
  expect((await readdir(folder)).sort()).toEqual(['film-before', 'show-before']);
  await isUntouched(outside);
});

/** Exchanges `name` for a link to `outside` and back, as fast as it can. */
const SWAPPER = `
const fs = require('node:fs');
const { name, outside, stop } = require('node:worker_threads').workerData;
const flag = new Int32Array(stop);
const quietly = (act) => { try { act(); } catch {} };
for (let round = 0; Atomics.load(flag, 0) === 0; round++) {
  quietly(() => fs.mkdirSync(name));
  quietly(() => fs.writeFileSync(name + '/a', 'inside'));
  quietly(() => fs.writeFileSync(name + '/kept', 'inside'));
  quietly(() => fs.renameSync(name, name + '-' + (round % 2)));
  quietly(() => fs.symlinkSync(outside, name));
  quietly(() => fs.unlinkSync(name));
  quietly(() => fs.renameSync(name + '-' + (round % 2), name));
  Atomics.add(flag, 1, 1);
}
`;

it('C4: while a folder is exchanged for a link, nothing outside is read or removed', async () => {
  const outside = await makeOutside();
  await writeFile(join(outside, 'a'), SECRET);
  const stop = new SharedArrayBuffer(8);
  const flag = new Int32Array(stop);
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { name: join(folder, 'show'), outside, stop } });
  const ended = new Promise((resolve, reject) => swapper.once('exit', resolve).once('error', reject));
  await new Promise((resolve) => swapper.once('online', resolve));
  const read = new Set<string>();
  try {
    for (let round = 0; round < 200; round++) {
      const found = await task.walk('show').catch(() => undefined);
      for (const file of found?.files ?? []) read.add(await textOf(file).catch(() => ''));
      if (round % 3 === 0) await task.removeResult('show').catch(() => undefined);
      if (round % 20 === 0) await task.remove().catch(() => undefined);
      await task.make().catch(() => undefined);
    }
  } finally {
    Atomics.store(flag, 0, 1);
    await ended;
  }
  expect(Atomics.load(flag, 1)).toBeGreaterThan(0);
  expect([...read].sort()).toEqual(['', 'inside']);
  await isUntouched(outside);
  await access(join(outside, 'a'));
});

it('C18: a tree of any depth is removed, and of one that is too deep nothing is taken', async () => {
  for (let level = 0; level < 700; level += 1) {
    await mkdir(join(folder, 'above'));
    if (level > 0) await rename(join(folder, 'd'), join(folder, 'above', 'd'));
    await writeFile(join(folder, 'above', 'file'), 'x');
    await rename(join(folder, 'above'), join(folder, 'd'));
  }
  await expect(task.walk('d')).rejects.toThrow('too deep');
  await task.remove();
  await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a path that a tool says is no folder of ours where it is far longer, be it of megabytes or one of a thousand', () => {
  expect(isSameFolder(`${'/a'.repeat(1_000_000)}${'/b/..'.repeat(400_000)}`, '/a')).toBe(false);
  expect(isSameFolder(`/a${'/b/..'.repeat(400)}`, '/a')).toBe(false);
  expect(isSameFolder('/a/b//', '/a/b')).toBe(true);
  expect(isSameFolder('/a/c/../b', '/a/b')).toBe(true);
});
