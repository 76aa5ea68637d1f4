import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, startSshServer } from '@wharf/harness';
import { afterAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { foldingServers } from '../local/folding-disks.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const folding = await foldingServers();
const server = await startSshServer();
const code = async (call: Promise<unknown>) => (await refusalOf(call))[0];

describe.each(folding)('$title', ({ items, makeFolder }) => {
  it('has an entry under one spelling only, and no other can be made', async () => {
    const folder = await makeFolder();
    const driver = await openSftp({ ...items, root_folder_path: folder });
    expect(driver.traits.caseSensitive).toBe(false);
    await driver.write(mpath('/folder/file'), bytesOf('text'), { overwrite: false });
    expect(await textOf(await driver.read(mpath('/folder/file')))).toBe('text');
    for (const other of ['/FOLDER', '/Folder/file', '/folder/FILE'].map(mpath)) {
      expect(await code(driver.stat(other))).toBe('ENTRY_NOT_FOUND');
      expect(await code(driver.read(other))).toBe('ENTRY_NOT_FOUND');
      expect(await code(driver.remove(other, { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await code(driver.rename(other, mpath('/mine'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await code(driver.copy(other, mpath('/mine'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      for (const overwrite of [false, true])
        expect(await code(driver.write(other, bytesOf('changed'), { overwrite }))).toBe('ENTRY_EXISTS');
      expect(await code(driver.makeDirectory(other))).toBe('ENTRY_EXISTS');
      expect(await code(driver.openDraft(mpath(`${other}/new`), '0'.repeat(32), { create: true }))).toMatch(/ENTRY_EXISTS|NOT_A_DIRECTORY/);
    }
    await driver.write(mpath('/other'), bytesOf('x'), { overwrite: false });
    expect(await code(driver.rename(mpath('/other'), mpath('/folder/FILE'), { overwrite: true }))).toBe('ENTRY_EXISTS');
    expect(await code(driver.copy(mpath('/other'), mpath('/folder/FILE'), { overwrite: true }))).toBe('ENTRY_EXISTS');
    // This disk lists every name in lower case.
    expect(await code(driver.write(mpath('/New'), bytesOf('x'), { overwrite: true }))).toBe('INVALID_ARGUMENT');
    expect(await code(driver.rename(mpath('/other'), mpath('/Other'), { overwrite: false }))).toBe('INVALID_ARGUMENT');
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(['folder', 'folder/file', 'other']);
  });
});

describe.runIf(isAvailable('sshd', server))('a root of an SFTP server that cannot be written to', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());
  const openFolder = async (name: string, names: readonly string[]) => {
    const folder = join(server.folder, name);
    await mkdir(folder);
    for (const file of names) await writeFile(join(folder, file), file);
    await chown(folder, 0, 0);
    await chmod(folder, 0o755);
    return openSftp({ ...itemsOf(server), root_folder_path: `${server.rootPath}/${name}` });
  };

  it('is judged by a name in it; where none tells, what is listed is what there is', async () => {
    const told = await openFolder('told', ['Name']);
    expect([told.traits.caseSensitive, (await told.stat(mpath('/Name'))).sizeBytes]).toEqual([true, 4]);
    const untold = await openFolder('untold', ['123']);
    expect([untold.traits.caseSensitive, (await untold.stat(mpath('/123'))).sizeBytes]).toEqual([false, 3]);
    expect(await code(untold.stat(mpath('/none')))).toBe('ENTRY_NOT_FOUND');
    const empty = await openFolder('empty', []);
    expect([empty.traits.caseSensitive, await Array.fromAsync(empty.list(mpath('/')))]).toEqual([false, []]);
  });
});
