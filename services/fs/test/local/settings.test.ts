import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import { DiskPool } from '../../src/drivers/local/disk-pool.ts';
import { LocalDriver } from '../../src/drivers/local/driver.ts';
import { localDriver } from '../../src/drivers/local/index.ts';
import { at, codeOf, makeFolders, namesIn, openLocal, put, settledNames, textOf } from './open-local.ts';

describe('opening', () => {
  it('fails for a root that is missing or no folder, with the text of the family', async () => {
    const { root } = await makeFolders();
    const none = path.join(root, 'none');
    await writeFile(path.join(root, 'file'), 'x');
    await expect(openLocal(none)).rejects.toThrow(`root folder ${none} not exists`);
    await expect(openLocal(path.join(root, 'file'))).rejects.toThrow(/^root folder .*file not exists$/);
    await expect(localDriver.open('{}')).rejects.toThrow('root_folder_path is required');
  });

  it.each([
    [{ mkdir_perm: '888' }, /mkdir_perm/],
    [{ mkdir_perm: 'rwx' }, /mkdir_perm/],
    [{ thumb_concurrency: 'many' }, /thumb_concurrency/],
    [{ video_thumb_pos: '101%' }, /video_thumb_pos/],
    [{ video_thumb_pos: '-1' }, /video_thumb_pos/],
  ])('fails for %j', async (items, message) => {
    const { root } = await makeFolders();
    await expect(openLocal(root, items)).rejects.toThrow(message);
  });

  it.each([{ mkdir_perm: '0755' }, { mkdir_perm: '' }, { thumb_concurrency: '16', video_thumb_pos: '20%' }, { video_thumb_pos: '1.5' }])(
    'works for %j',
    async (items) => {
      const { root } = await makeFolders();
      expect(await namesIn(await openLocal(root, items), '/')).toEqual([]);
    },
  );

  it('of an aborted call ends, and a root that vanishes later is a storage that is not available', async () => {
    const { base, root } = await makeFolders();
    await expect(localDriver.open(JSON.stringify({ root_folder_path: root }), { signal: AbortSignal.abort() })).rejects.toThrow(
      'cancelled',
    );
    const gone = path.join(base, 'gone');
    await mkdir(gone);
    const driver = await openLocal(gone);
    execFileSync('rmdir', [gone]);
    expect(await codeOf(namesIn(driver, '/'))).toBe('STORAGE_UNAVAILABLE');
  });
});

it('hidden entries are listed only when they are to be shown', async () => {
  const { root } = await makeFolders();
  await writeFile(path.join(root, '.hidden'), 'x');
  await writeFile(path.join(root, 'shown'), 'x');
  expect(await namesIn(await openLocal(root, { show_hidden: true }), '/')).toEqual(['.hidden', 'shown']);
  const hiding = await openLocal(root, { show_hidden: false });
  expect(await namesIn(hiding, '/')).toEqual(['shown']);
  expect((await hiding.listNames(MOUNT_ROOT, undefined))?.names).toEqual(['shown']);
});

it('new folders take the mode of mkdir_perm, less the umask', async () => {
  const { root } = await makeFolders();
  await (await openLocal(root, { mkdir_perm: '750' })).makeDirectory(at('/a/b'));
  expect((await stat(path.join(root, 'a/b'))).mode & 0o777).toBe(0o750 & ~process.umask());
});

it('folder sizes are added up when that is wanted, and 0 else', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'a/b'), { recursive: true });
  await writeFile(path.join(root, 'a/one'), 'x'.repeat(10));
  await writeFile(path.join(root, 'a/b/two'), 'x'.repeat(5));
  const adding = await openLocal(root, { directory_size: true });
  expect(await Array.fromAsync(adding.list(MOUNT_ROOT))).toMatchObject([{ name: 'a', sizeBytes: 15 }]);
  expect(await adding.stat(at('/a/b'))).toMatchObject({ sizeBytes: 5 });
  expect(await (await openLocal(root)).stat(at('/a'))).toMatchObject({ sizeBytes: 0 });
});

it('a folder that goes between its listing and the look at its size counts as nothing, and the others are listed', async () => {
  const { root } = await makeFolders();
  const settings = { rootPath: root, recycleBinPath: undefined, addsUpFolders: true, showsHidden: true, folderMode: 0o755 };
  const disk = new DiskPool(settings);
  const call = disk.call.bind(disk);
  vi.spyOn(disk, 'call').mockImplementation(async (operation, values, ...rest) => {
    if (operation === 'addUp') await rm(path.join(root, 'goes'), { recursive: true, force: true });
    return call(operation, values, ...rest);
  });
  const driver = await LocalDriver.open(settings, {}, disk);
  onTestFinished(() => driver.close());
  for (const name of ['goes', 'stays']) await mkdir(path.join(root, name));
  await writeFile(path.join(root, 'stays/file'), 'text');
  const entries = await Array.fromAsync(driver.list(at('/')));
  expect(entries.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
    ['goes', 0],
    ['stays', 4],
  ]);
});

describe('with a recycle bin', () => {
  it('removed entries move there, and a taken name gets the time behind it', async () => {
    const { base, root } = await makeFolders();
    const bin = path.join(base, 'bin');
    const driver = await openLocal(root, { recycle_bin_path: bin });
    for (const content of ['first', 'second', 'third']) {
      await put(driver, '/file', content);
      await driver.remove(at('/file'), { recursive: false });
    }
    await put(driver, '/folder/inner', 'x');
    expect(await codeOf(driver.remove(at('/folder'), { recursive: false }))).toBe('DIRECTORY_NOT_EMPTY');
    await driver.remove(at('/folder'), { recursive: true });
    await driver.makeDirectory(at('/folder'));
    await driver.remove(at('/folder'), { recursive: false });
    expect(await settledNames(root)).toEqual([]);
    const names = (await readdir(bin)).sort();
    expect(names).toHaveLength(5);
    expect(names[0]).toBe('file');
    expect(names[1]).toMatch(/^file_\d{14}$/);
    expect(names[3]).toBe('folder');
    expect(names[4]).toMatch(/^folder_\d{14}$/);
    expect(await readdir(path.join(bin, 'folder'))).toEqual(['inner']);
  });

  it('whether a folder is empty is found without its names, which may be more than a thread holds', async () => {
    const { base, root } = await makeFolders();
    const bin = path.join(base, 'bin');
    const disk = createDiskOperations({ rootPath: root, recycleBinPath: bin, addsUpFolders: false, showsHidden: true, folderMode: 0o755 });
    for (const name of ['a', 'b', 'c']) await mkdir(path.join(root, 'folder', name), { recursive: true });
    const reading = vi.spyOn(fs, 'readdirSync');
    onTestFinished(() => reading.mockRestore());
    await expect(disk.remove(new AbortController().signal, at('/folder'), false)).rejects.toMatchObject({ code: 'DIRECTORY_NOT_EMPTY' });
    expect(reading).not.toHaveBeenCalled();
    for (const name of ['a', 'b', 'c']) await rmdir(path.join(root, 'folder', name));
    await disk.remove(new AbortController().signal, at('/folder'), false);
    expect(await readdir(bin)).toEqual(['folder']);
  });

  it('inside the root, what is in it is deleted, and a folder around it stays', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root, { recycle_bin_path: path.join(root, 'kept/bin') });
    await put(driver, '/file', 'x');
    await driver.remove(at('/file'), { recursive: false });
    expect(await namesIn(driver, '/kept/bin')).toEqual(['file']);
    expect(await codeOf(driver.remove(at('/kept'), { recursive: true }))).toBe('FAILED_PRECONDITION');
    await driver.remove(at('/kept/bin/file'), { recursive: false });
    expect(await namesIn(driver, '/kept/bin')).toEqual([]);
  });

  it('that is gone it is made again, and where it is no folder nothing is removed, nor said to be', async () => {
    const { base, root } = await makeFolders();
    const bin = path.join(base, 'deep/bin');
    const driver = await openLocal(root, { recycle_bin_path: bin });
    await rm(path.join(base, 'deep'), { recursive: true });
    await put(driver, '/file', 'x');
    await driver.remove(at('/file'), { recursive: false });
    expect(await readdir(bin)).toEqual(['file']);
    await rm(bin, { recursive: true });
    await writeFile(bin, 'no folder');
    await put(driver, '/file', 'y');
    await put(driver, '/folder/inner', 'z');
    for (const name of ['/file', '/folder']) expect(await codeOf(driver.remove(at(name), { recursive: true }))).toBe('FAILED_PRECONDITION');
    const onlyIf = await driver.stat(at('/file'));
    expect(await codeOf(driver.remove(at('/file'), { recursive: false, onlyIf }))).toBe('FAILED_PRECONDITION');
    expect(await settledNames(root)).toEqual(['file', 'folder']);
    expect([await textOf(driver, '/file'), await textOf(driver, '/folder/inner')]).toEqual(['y', 'z']);
  });

  it.each(['bin', ''])('whose way is a loop of links (%j) takes nothing, and nothing is removed, nor said to be', async (looped) => {
    const { base, root } = await makeFolders();
    const driver = await openLocal(root, { recycle_bin_path: path.join(base, 'outer/bin') });
    await put(driver, '/file', 'y');
    await put(driver, '/folder/inner', 'z');
    const place = path.resolve(base, 'outer', looped);
    await rm(place, { recursive: true });
    await symlink(place, place);
    for (const name of ['/file', '/folder']) expect(await codeOf(driver.remove(at(name), { recursive: true }))).toBe('FAILED_PRECONDITION');
    const onlyIf = await driver.stat(at('/file'));
    expect(await codeOf(driver.remove(at('/file'), { recursive: false, onlyIf }))).toBe('FAILED_PRECONDITION');
    expect(await settledNames(root)).toEqual(['file', 'folder']);
  });

  it('that goes as something is moved there is not taken for what is moved', async () => {
    const { base, root } = await makeFolders();
    const bin = path.join(base, 'bin');
    const disk = createDiskOperations({ rootPath: root, recycleBinPath: bin, addsUpFolders: false, showsHidden: true, folderMode: 0o755 });
    await writeFile(path.join(root, 'file'), 'x');
    await rm(bin, { recursive: true });
    const making = vi.spyOn(fs, 'mkdirSync').mockReturnValue(undefined);
    onTestFinished(() => making.mockRestore());
    expect(await codeOf(disk.remove(new AbortController().signal, at('/file'), false))).toBe('FAILED_PRECONDITION');
    expect(await readdir(root)).toContain('file');
  });

  it('called "delete permanently" there is none', async () => {
    const { base, root } = await makeFolders();
    const driver = await openLocal(root, { recycle_bin_path: 'delete permanently' });
    await put(driver, '/file', 'x');
    await driver.remove(at('/file'), { recursive: false });
    expect((await readdir(base)).sort()).toEqual(['outside', 'root']);
  });
});

it.runIf(process.platform === 'linux')('names that no path can say are not listed, but go with their folder', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  for (const name of [Buffer.from([0x61, 0xff]), Buffer.from('back\\slash'), Buffer.from('line\nbreak')]) {
    await writeFile(Buffer.concat([Buffer.from(`${root}/d/`), name]), 'x');
  }
  const driver = await openLocal(root);
  expect(await namesIn(driver, '/d')).toEqual([]);
  expect(await codeOf(driver.remove(at('/d'), { recursive: false }))).toBe('DIRECTORY_NOT_EMPTY');
  await driver.copy(at('/d'), at('/copied'), { overwrite: false });
  expect(await readdir(path.join(root, 'copied'))).toHaveLength(3);
  await driver.remove(at('/d'), { recursive: true });
  expect(await settledNames(root)).toEqual(['copied']);
});
