import { describe, expect, it } from 'vitest';
import { actor } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { makeDirectory } from './make-directory.ts';

describe('making a folder', () => {
  it('makes those above it too, is content with one that is there, and tells', async () => {
    const memory = await openStorages();
    await makeDirectory(memory.operation(), '/a/x/y');
    await makeDirectory(memory.operation(), 'a//x/y/');
    expect(await memory.everything('/a')).toEqual(['/a/x/y/']);
    expect(memory.published).toEqual(['/a/x/y', '/a/x/y']);
  });

  it('where a file is fails with the family’s code and text', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    expect(await refusalOf(makeDirectory(memory.operation(), '/a/f'))).toEqual(['FAILED_PRECONDITION', 'file exists']);
  });

  it('of a mount point, of a folder above one and of the root does nothing', async () => {
    const memory = await openStorages({ storages: [{ mount_path: '/m/n' }] });
    for (const path of ['/', '/m', '/m/n']) await makeDirectory(memory.operation(), path);
    expect(memory.published).toEqual([]);
    expect((await refusalOf(makeDirectory(memory.operation(), '/m/other')))[0]).toBe('MOUNT_NOT_FOUND');
  });

  it('C16: is refused where it would be hidden from whoever makes it, and where that caller may not read', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '\\.key$', h_sub: true },
        { path: '/b/staff', read_users: [99], read_users_sub: true },
      ],
    });
    await memory.makeFolder('/a/dir.key');
    await memory.makeFolder('/b/staff');
    const before = await memory.everything();
    for (const path of ['/a/new.key', '/a/new.key/sub', '/a/dir.key', '/a/dir.key/sub', '/a/dir.key/sub/deeper', '/b/staff/sub'])
      expect(await refusalOf(makeDirectory(memory.operation(without('see_hides')), path))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(before);
    await makeDirectory(memory.operation(), '/a/dir.key/sub');
    await makeDirectory(memory.operation(actor({ id: 99 })), '/b/staff/sub');
  });

  it('needs the permission to write, or a rule that lets everybody', async () => {
    const memory = await openStorages({ rules: [{ path: '/a/drop', write: true }] });
    expect(await refusalOf(makeDirectory(memory.operation(without('write')), '/a/x'))).toEqual(DENIED);
    await makeDirectory(memory.operation(without('write')), '/a/drop/x');
  });
});
