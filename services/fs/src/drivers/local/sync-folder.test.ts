import fs from 'node:fs';
import { makeTempDir } from '@wharf/harness';
import type { MountPath } from '@wharf/paths';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createDiskOperations } from './disk-operations.ts';

it('a thread syncs eight files and folders at once, however many folders are written to', async () => {
  const dir = await makeTempDir('syncs');
  onTestFinished(() => dir.remove());
  const operations = createDiskOperations({
    ...{ rootPath: dir.path, addsUpFolders: false, showsHidden: true },
    ...{ folderMode: 0o777, recycleBinPath: undefined },
  });
  let [running, most, folders] = [0, 0, 0];
  const real = fs.fsync;
  const spy = vi.spyOn(fs, 'fsync').mockImplementation((fd, done) => {
    running += 1;
    most = Math.max(most, running);
    const isFolder = fs.fstatSync(fd).isDirectory();
    if (isFolder) folders += 1;
    const end = () =>
      real(fd, (error) => {
        running -= 1;
        done(error);
      });
    // Folders take longer than files.
    if (isFolder) setImmediate(() => setImmediate(end));
    else end();
  });
  onTestFinished(() => spy.mockRestore());
  const write = (index: number) => {
    const path = `/folder ${index}/file` as MountPath;
    return operations.writeWhole(new AbortController().signal, {
      path,
      content: Buffer.from('x'),
      overwrite: false,
      modifiedMs: undefined,
    });
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => write(index)));
  expect(folders).toBeGreaterThanOrEqual(40);
  expect(most).toBe(8);
});
