import fs from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import { at, makeFolders, settledNames } from './open-local.ts';

const NEVER = new AbortController().signal;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function diskOf(rootPath: string) {
  return createDiskOperations({ rootPath, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined });
}

/** Writes so many empty files at once, and counts what is asked of the system beside what each file needs. */
async function writeAtOnce(root: string, count: number) {
  const disk = diskOf(root);
  const calls = { mkdir: vi.spyOn(fs, 'mkdirSync'), rmdir: vi.spyOn(fs, 'rmdirSync'), readFile: vi.spyOn(fs, 'readFileSync') };
  const paths = Array.from({ length: count }, (_, index) => at(`/d/${count}-${index}`));
  const begun = await Promise.all(paths.map(async (file) => ({ file, ...(await disk.beginWrite(NEVER, file, false)) })));
  await Promise.all(begun.map(({ file, temp, fd }) => disk.publish(NEVER, temp, fd, file, false)));
  const counts = Object.fromEntries(Object.entries(calls).map(([name, spy]) => [name, spy.mock.calls.length]));
  vi.restoreAllMocks();
  return counts;
}

it('files that are written at once share the folder of temporary files, and the look at where their folder is mounted', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const few = await writeAtOnce(root, 8);
  // The mounts of the root and of the folder; elsewhere than on Linux nothing is read for it.
  const reads = process.platform === 'linux' ? 2 : 0;
  expect(few).toEqual({ mkdir: 1, rmdir: 1, readFile: reads });
  expect([await writeAtOnce(root, 16), await writeAtOnce(root, 32)]).toEqual([few, few]);
  expect(await settledNames(root)).toEqual(['d']);
  expect(await readdir(path.join(root, 'd'))).toHaveLength(56);
});

it('small files that are stored at once look for the folder of temporary files once, and each for its own folder once', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const disk = diskOf(root);
  // What is held is looked for anew after a second.
  vi.useFakeTimers({ toFake: ['performance'] });
  for (const count of [8, 16, 32]) {
    const paths = Array.from({ length: count }, (_, index) => at(`/d/${count}-${index}`));
    const files = paths.map((file) => ({ path: file, content: Buffer.from(file), overwrite: true, modifiedMs: undefined }));
    const store = () => Promise.all(files.map((file) => disk.writeWhole(NEVER, file)));
    await store();
    const calls = { open: vi.spyOn(fs, 'openSync'), lstat: vi.spyOn(fs, 'lstatSync'), rename: vi.spyOn(fs, 'renameSync') };
    await store();
    const places = calls.open.mock.calls.map(([place]) => String(place));
    expect(places.filter((place) => place === path.join(root, 'd'))).toHaveLength(count);
    expect(places.filter((place) => place.endsWith('/.wharf-tmp')).length).toBeLessThanOrEqual(2);
    // Before it is written, and right before it gets its name.
    expect(calls.lstat).toHaveBeenCalledTimes(2 * count);
    expect(calls.rename).toHaveBeenCalledTimes(count);
    vi.restoreAllMocks();
    for (const file of paths) expect(await readFile(path.join(root, file), 'utf8')).toBe(file);
  }
  expect(await settledNames(root)).toEqual(['d']);
});

it('of files that are stored together only a few are synced at once, and all before their names are given', async () => {
  const { root } = await makeFolders();
  const disk = diskOf(root);
  const { fsync } = fs;
  let [running, most, synced] = [0, 0, 0];
  vi.spyOn(fs, 'fsync').mockImplementation((fd, callback) => {
    const isFile = fs.fstatSync(fd).isFile();
    if (isFile) running += 1;
    most = Math.max(most, running);
    fsync(fd, (error) => {
      if (isFile) {
        running -= 1;
        synced += 1;
      }
      callback(error);
    });
  });
  const named: boolean[] = [];
  const { linkSync } = fs;
  vi.spyOn(fs, 'linkSync').mockImplementation((from, to) => {
    named.push(synced > named.length);
    linkSync(from, to);
  });
  const files = Array.from({ length: 40 }, (_, index) => ({
    ...{ path: at(`/${index}`), overwrite: false, modifiedMs: undefined },
    ...{ start: index, end: index + 1, untilMs: Number.POSITIVE_INFINITY },
  }));
  await disk.writeMany(NEVER, files, Buffer.from('x'.repeat(40)));
  expect([most, synced]).toEqual([8, 40]);
  expect(named).toEqual(files.map(() => true));
});
