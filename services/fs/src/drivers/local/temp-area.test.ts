import { readdir } from 'node:fs/promises';
import { makeTempDir } from '@wharf/harness';
import type { MountPath } from '@wharf/paths';
import { expect, it, onTestFinished } from 'vitest';
import { createDiskOperations } from './disk-operations.ts';

it('the folder of temporary files goes with the last of them, whichever threads began and ended them', async () => {
  const dir = await makeTempDir('temp-area');
  onTestFinished(() => dir.remove());
  const { signal } = new AbortController();
  const [one, other] = [1, 2].map(() =>
    createDiskOperations({
      ...{ rootPath: dir.path, addsUpFolders: false, showsHidden: true },
      ...{ folderMode: 0o777, recycleBinPath: undefined },
    }),
  );
  const path = '/a' as MountPath;
  const begun = await one?.beginWrite(signal, path, false);
  if (begun !== undefined) await other?.publish(signal, begun.temp, begun.fd, path, false);
  await one?.writeWhole(signal, { path: '/b' as MountPath, content: Buffer.from('x'), overwrite: false, modifiedMs: undefined });
  expect(await readdir(dir.path)).toEqual(['a', 'b']);
});
