import { existsSync } from 'node:fs';
import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { createDiskOperations } from './disk-operations.ts';

it.runIf(existsSync('/proc/self/status'))('a file with content whose file system gives it a size of 0 is not read as empty', () => {
  const { signal } = new AbortController();
  const operations = createDiskOperations({
    ...{ rootPath: '/proc/self', addsUpFolders: false, showsHidden: true },
    ...{ folderMode: 0o777, recycleBinPath: undefined },
  });
  const file = '/status' as MountPath;
  expect(() => operations.open(signal, file, undefined)).toThrow('the content is not what was announced');
  expect(operations.readMany(signal, [file], 100).files).toEqual([undefined]);
});
