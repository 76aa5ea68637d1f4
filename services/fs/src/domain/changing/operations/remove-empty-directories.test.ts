import { describe, expect, it } from 'vitest';
import { actor, type MemoryTree, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { removeEmptyDirectories, removeEmptyFoldersIn } from './remove-empty-directories.ts';
import { removeEntries } from './remove-entries.ts';

const tidy = (memory: MemoryTree, src_dir: string, who = actor()) => removeEmptyDirectories(memory.operation(who), { src_dir });

describe('removing empty folders', () => {
  it('removes those that hold only such folders too, and keeps the folder itself', async () => {
    const memory = await openStorages();
    for (const folder of ['/a/d/1/2/3', '/a/d/1/4', '/a/d/full/5', '/a/other']) await memory.makeFolder(folder);
    await memory.put('/a/d/full/f');
    await tidy(memory, '/a/d');
    expect(await memory.everything()).toEqual(['/a/d/full/f', '/a/other/']);
    expect(memory.published).toEqual(['/a/d/1/2/3', '/a/d/1/2', '/a/d/1/4', '/a/d/1', '/a/d/full/5']);
    await tidy(memory, '/a/other');
    expect(await memory.everything('/a/other')).toEqual(['/a/other/']);
  });

  it('takes what the caller does not see for what it is', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a', hide: '^secret', h_sub: true },
        { path: '/a/d/listed', read_users: [99] },
        { path: '/a/d/e/fixed', write_users: [99] },
        { path: '/a/d/locked/in', password: 'pw' },
      ],
    });
    for (const folder of ['/a/d/secrets', '/a/d/listed', '/a/d/e/fixed', '/a/d/locked/in', '/a/d/empty', '/a/d/h'])
      await memory.makeFolder(folder);
    await memory.put('/a/d/h/secret');
    await tidy(memory, '/a/d', actor({ permission: 0xfffc }));
    expect(await memory.everything()).toEqual(['/a/d/e/fixed/', '/a/d/h/secret', '/a/d/listed/', '/a/d/locked/in/', '/a/d/secrets/']);
  });

  it('goes through what is mounted below, and keeps mount points', async () => {
    const memory = await openTree({ storages: [{}, { mount_path: '/d/m/n' }] });
    for (const folder of ['/d/m/own', '/d/m/n/x/y', '/d/z']) await memory.makeFolder(folder);
    await tidy(memory, '/');
    await tidy(memory, '/d/m');
    expect(memory.published.toSorted()).toEqual(['/d/m/n/x', '/d/m/n/x/y', '/d/m/own', '/d/z']);
  });

  it('leaves a file that gets the name of an empty folder right before that is to go', async () => {
    const memory = await openStorages();
    await memory.makeFolder('/a/d/empty');
    const exchange = async () => {
      await removeEntries(memory.operation(), { dir: '/a/d', names: ['empty'] });
      await memory.put('/a/d/empty');
    };
    await removeEmptyFoldersIn(async () => memory.operation(), vpath('/a/d'), exchange);
    expect(await memory.everything('/a/d')).toEqual(['/a/d/empty']);
  });

  it('of a tree without end stops', async () => {
    const memory = await openStorages();
    await memory.makeFolder(`/a/d${'/again'.repeat(30)}`);
    const endless = removeEmptyFoldersIn(async () => memory.operation(), vpath('/a/d'), undefined, 20);
    expect((await refusalOf(endless))[0]).toBe('FAILED_PRECONDITION');
    expect(await memory.everything('/a/d')).toHaveLength(1);
  });

  it('needs its permission, and that of the folder', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a/fixed', write_users: [99], write_users_sub: true },
        { path: '/a/locked', password: 'pw' },
      ],
    });
    for (const folder of ['/a/fixed/d', '/a/locked/d', '/a/d/e']) await memory.makeFolder(folder);
    expect(await refusalOf(tidy(memory, '/a/d', without('delete')))).toEqual(DENIED);
    expect(await refusalOf(tidy(memory, '/a/fixed'))).toEqual(DENIED);
    expect((await refusalOf(tidy(memory, '/a/locked', without('access_without_password'))))[0]).toBe('PERMISSION_DENIED');
    expect((await refusalOf(tidy(memory, '/a/none')))[0]).toBe('ENTRY_NOT_FOUND');
    expect(memory.published).toEqual([]);
  });
});
