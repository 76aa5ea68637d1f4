import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decorated, operationsOf } from '../../../driver-contract/complete-driver.ts';
import { defineDriver } from '../../../driver-contract/define-driver.ts';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { NO_QUOTAS } from '../../quota/quota.ts';
import { openLimited } from '../../testing/limited-storage.ts';
import { bytesOf, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { removeEntries } from './remove-entries.ts';

describe('removing', () => {
  it('takes away files and folders, is content when nothing is there, and tells', async () => {
    const memory = await openStorages();
    for (const path of ['/a/d/e/f', '/a/g', '/a/keep']) await memory.put(path);
    await removeEntries(memory.operation(), { dir: '/a', names: ['d/', '/g', 'none', 'g'] });
    expect(await memory.everything('/a')).toEqual(['/a/keep']);
    expect(memory.published).toContain('/a/d');
  });

  it('tells also where the store is away when there is more room', async () => {
    const freed = () => Promise.reject(new Error('the store does not answer'));
    const memory = await openTree({ quotas: { ...NO_QUOTAS, freed } });
    await memory.put('/f');
    await expect(removeEntries(memory.operation(), { dir: '/', names: ['f'] })).rejects.toThrow('the store does not answer');
    expect([await memory.everything(), memory.published]).toEqual([[], ['/f']]);
  });

  it('checks every name before the first goes', async () => {
    const memory = await openStorages({ rules: [{ path: '/a/fixed/deep', write_users: [99] }] });
    for (const path of ['/a/f', '/a/fixed/deep/x']) await memory.put(path);
    const names = (...given: string[]) => removeEntries(memory.operation(), { dir: '/a', names: given });
    expect(await refusalOf(names('f', 'fixed'))).toEqual(DENIED);
    for (const name of ['keep/below', 'x/../../../a/out', 'g/../f', '//f', './f', 'f//'])
      expect(await refusalOf(names('f', name)), name).toEqual(['UNSAFE_PATH', 'using relative path is not allowed']);
    expect(await refusalOf(names('f', '..\\b'))).toEqual(['UNSAFE_PATH', 'using relative path is not allowed']);
    expect(await refusalOf(names('f', '.'))).toEqual(['INVALID_ARGUMENT', 'invalid file name [.]']);
    expect(await refusalOf(names())).toEqual(['INVALID_ARGUMENT', 'Empty file names']);
    expect(await memory.everything('/a')).toEqual(['/a/f', '/a/fixed/deep/x']);
    expect(memory.published).toEqual([]);
  });

  it('takes no folder in which anything is, and no file, where only empty folders are to go', async () => {
    const memory = await openStorages();
    for (const path of ['/a/d/f', '/a/e/f', '/a/keep']) await memory.put(path);
    const removing = (dir: string, ...names: string[]) => removeEntries(memory.operation(), { dir, names, onlyEmpty: true });
    expect((await refusalOf(removing('/a/e', 'f')))[0]).toBe('NOT_A_DIRECTORY');
    await removeEntries(memory.operation(), { dir: '/a/e', names: ['f'] });
    await removing('/a', 'e', 'none');
    expect((await refusalOf(removing('/a', 'd')))[0]).toBe('DIRECTORY_NOT_EMPTY');
    expect(await memory.everything('/a')).toEqual(['/a/d/f', '/a/keep']);
  });

  it('takes no file that has got the name where nothing was, where only empty folders are to go', async () => {
    const store = new MemoryDriver();
    const uploading = defineDriver({
      name: 'Uploading',
      label: 'Uploading',
      internal: true,
      config: { local_sort: true, only_proxy: true },
      configSchema: z.object({}),
      open: async () =>
        decorated({
          ...operationsOf(store),
          async stat(path, options) {
            const looked = store.stat(path, options);
            if (path === '/f') await looked.catch(() => store.write(path, bytesOf('stored'), { overwrite: false }));
            return looked;
          },
        }),
    });
    const memory = await openTree({ drivers: [uploading], storages: [{ mount_path: '/a', driver: 'Uploading' }] });
    expect((await refusalOf(removeEntries(memory.operation(), { dir: '/a', names: ['f'], onlyEmpty: true })))[0]).toBe('STALE_VERSION');
    expect(await memory.textOf('/a/f')).toBe('stored');
  });

  it('never takes a mount point, nor a folder above one', async () => {
    const memory = await openStorages({ storages: [{}, { mount_path: '/m/n' }] });
    await memory.put('/m/x');
    for (const [dir, name, message] of [
      ['/', 'm', 'permission denied'],
      ['/m', 'n', 'delete root folder is not allowed'],
    ])
      expect(await refusalOf(removeEntries(memory.operation(), { dir: dir ?? '', names: [name ?? ''] }))).toEqual([
        'FAILED_PRECONDITION',
        message,
      ]);
  });

  it('leaves out names that lead out of the folder', async () => {
    const memory = await openStorages();
    for (const path of ['/a/in/f', '/a/in/g', '/a/out']) await memory.put(path);
    await removeEntries(memory.operation(), { dir: '/a/in', names: ['../out', '..', '../../', 'f'] });
    expect(await memory.everything('/a')).toEqual(['/a/in/g', '/a/out']);
  });

  it.each([
    ['a file and a small folder go, where folders go entry by entry,', true, ['file', 'small']],
    ['a file goes, where the storage removes folders by itself,', false, ['file']],
  ])('%s while a large folder of the same user goes for hours', async (_what, hasObjects, soon) => {
    const store = new MemoryDriver({ hasObjects });
    const remove = store.remove.bind(store);
    const hours = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    store.remove = async (path, options) => {
      if (path === '/large' && options.recursive) {
        begun.resolve();
        await hours.promise;
      }
      return remove(path, options);
    };
    const memory = await openLimited(store);
    for (const path of ['/large/f', '/file', '/small/f']) await memory.put(path);
    const removed = (...names: string[]) =>
      removeEntries(memory.operation(), { dir: '/', names }, async () => Promise.reject(new Error('not to be queued')));
    const large = removeEntries(memory.operation(), { dir: '/', names: ['large'] });
    await begun.promise;
    await removed(...soon);
    hours.resolve();
    await large;
    await removed('small');
    expect(await memory.everything()).toEqual([]);
  });

  it('needs its permission', async () => {
    const memory = await openStorages();
    expect(await refusalOf(removeEntries(memory.operation(without('delete')), { dir: '/a', names: ['x'] }))).toEqual(DENIED);
  });
});
