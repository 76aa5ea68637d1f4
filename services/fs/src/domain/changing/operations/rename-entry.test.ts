import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { decorated, operationsOf } from '../../../driver-contract/complete-driver.ts';
import type { StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { openLimited } from '../../testing/limited-storage.ts';
import { actor, bytesOf, type MemoryTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { beginUpload } from '../upload.ts';
import { renameEntry } from './rename-entry.ts';

describe('renaming', () => {
  const rename = (memory: MemoryTree, path: string, name: string, overwrite = false, who = actor()) =>
    renameEntry(memory.operation(who), { path, name, overwrite });

  it.each(['/a', '/p'])('gives an entry in %s another name, and tells of both', async (root) => {
    const memory = await openStorages();
    await memory.put(`${root}/d/f`, 'text');
    await rename(memory, `${root}/d`, 'e');
    expect(await memory.everything(root)).toEqual([`${root}/e/f`]);
    expect(memory.published).toEqual([`${root}/d`, `${root}/e`]);
  });

  it('to the name it has changes nothing', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    await rename(memory, '/a/f', 'f');
    expect(memory.published).toEqual([]);
    expect((await refusalOf(rename(memory, '/a/none', 'none')))[0]).toBe('ENTRY_NOT_FOUND');
  });

  it('to a taken name is refused, unless it may replace', async () => {
    const memory = await openStorages();
    await memory.put('/a/f', 'new');
    await memory.put('/a/g', 'old');
    expect(await refusalOf(rename(memory, '/a/f', 'g'))).toEqual(['ENTRY_EXISTS', 'file [g] exists']);
    await rename(memory, '/a/f', 'g', true);
    expect(await memory.textOf('/a/g')).toBe('new');
    expect(await memory.everything('/a')).toEqual(['/a/g']);
  });

  it('never takes the name of a mount point', async () => {
    const memory = await openStorages({ storages: [{}, { mount_path: '/m' }] });
    await memory.put('/f');
    expect(await refusalOf(rename(memory, '/f', 'm', true))).toEqual(['ENTRY_EXISTS', 'file [m] exists']);
  });

  it.each(['', '.', '..', 'x/y', 'x\\y', '../x', 'a\0b', 'a\nb', 'x'.repeat(256)])('to %j is refused', async (name) => {
    const memory = await openStorages();
    await memory.put('/a/f');
    expect(await refusalOf(rename(memory, '/a/f', name))).toEqual(['UNSAFE_PATH', 'using relative path is not allowed']);
    expect(await memory.everything('/a')).toEqual(['/a/f']);
  });

  it.each(['/a', '/', '/home'])('of %s, a root, is refused', async (path) => {
    const memory = await openStorages({ storages: [{ mount_path: '/a' }, { mount_path: '/home' }] });
    const who = path === '/home' ? actor({ basePath: vpath('/home') }) : actor();
    expect(
      await refusalOf(renameEntry(memory.operation(who), { path: path === '/home' ? '/' : path, name: 'x', overwrite: false })),
    ).toEqual(['FAILED_PRECONDITION', 'rename root folder is not allowed']);
  });

  it('needs its permission, and that of the rules at both names', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '^secret' },
        { path: '/a/fixed', write_users: [99] },
      ],
    });
    await memory.put('/a/f');
    await memory.put('/a/fixed');
    expect(await refusalOf(rename(memory, '/a/f', 'g', false, without('rename')))).toEqual(DENIED);
    expect(await refusalOf(rename(memory, '/a/fixed', 'g'))).toEqual(DENIED);
    expect(await refusalOf(rename(memory, '/a/f', 'secret', false, without('see_hides')))).toEqual(DENIED);
    expect(await memory.everything('/a')).toEqual(['/a/f', '/a/fixed']);
  });
});

it('one user who renames where the storage has no renames leaves turns of it to others', async () => {
  const store = new MemoryDriver();
  const plain = operationsOf(store);
  const over = Promise.withResolvers<never>();
  // The others may come to it later than to the refusal of the first.
  over.promise.catch(() => undefined);
  const write: StorageDriver['write'] = (file, content, options) =>
    file.startsWith('/new') ? over.promise : store.write(file, content, options);
  const memory = await openLimited(decorated({ ...plain, rename: undefined, copy: undefined, write }), { writes: 2 });
  for (const path of ['/a', '/b', '/c']) await memory.put(path);
  const rename = (path: string) =>
    renameEntry(memory.operation(actor({ id: 1 })), { path, name: `new-${path.slice(1)}`, overwrite: false });
  const renaming = ['/a', '/b', '/c'].map((path) => refusalOf(rename(path)));
  const upload = { path: '/upload', overwrite: false, password: undefined, sizeBytes: 4, modifiedAt: undefined, expectedHashes: {} };
  await (await beginUpload(memory.operation(actor({ id: 2 })), upload)).store(bytesOf('text'));
  expect(await memory.textOf('/upload')).toBe('text');
  over.reject(new AppError('QUOTA_EXCEEDED', 'over'));
  expect((await Promise.all(renaming)).map(([code]) => code)).toEqual(Array.from({ length: 3 }, () => 'QUOTA_EXCEEDED'));
});
