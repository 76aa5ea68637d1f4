import fs from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import { at, makeFolders } from './open-local.ts';

const NEVER = new AbortController().signal;

afterEach(() => void vi.restoreAllMocks());

/** Writes so many empty files at once, and counts what is asked of the system beside what each file needs. */
async function writeAtOnce(root: string, count: number) {
  const disk = createDiskOperations({
    rootPath: root,
    addsUpFolders: false,
    showsHidden: true,
    folderMode: 0o777,
    recycleBinPath: undefined,
  });
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
  expect(few).toEqual({ mkdir: 1, rmdir: 1, readFile: process.platform === 'linux' ? 2 : 0 });
  expect([await writeAtOnce(root, 16), await writeAtOnce(root, 32)]).toEqual([few, few]);
  expect((await readdir(root)).sort()).toEqual(['d']);
  expect(await readdir(path.join(root, 'd'))).toHaveLength(56);
});
