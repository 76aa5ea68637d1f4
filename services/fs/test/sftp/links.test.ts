import { chown, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, makeTempDir, startSshServer } from '@wharf/harness';
import type { MountPath } from '@wharf/paths';
import { afterAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath, textOf } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { itemsOf, openSftp } from './open-sftp.ts';

const server = await startSshServer();

describe.runIf(isAvailable('sshd', server))('links on an SFTP server', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());
  const code = async (call: Promise<unknown>) => (await refusalOf(call))[0];

  it('show what they lead to inside the root, and lead nowhere else', async () => {
    const root = join(server.folder, 'root');
    const outside = join(server.folder, 'outside');
    const beside = join(server.folder, 'root-beside');
    for (const folder of [root, outside, beside, join(root, 'folder')]) {
      await mkdir(folder);
      await chown(folder, server.uid, server.uid);
    }
    await writeFile(join(outside, 'secret'), 'secret');
    await writeFile(join(beside, 'secret'), 'secret');
    await writeFile(join(root, 'file'), 'content');
    await writeFile(join(root, 'folder', 'inner'), 'inner');
    const links = {
      'to-file': 'file',
      'to-folder': 'folder',
      'to-itself': 'to-itself',
      'to-nothing': 'none',
      'to-outside': '../outside',
      'to-secret': '../outside/secret',
      'to-beside': '../root-beside',
      'to-etc': '/etc',
      'to-new-outside': '../outside/new',
    };
    for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
    const items = { ...itemsOf(server), root_folder_path: `${server.rootPath}/root` };
    const driver = await openSftp(items);

    const entries = await Array.fromAsync(driver.list(mpath('/')));
    expect(entries.map((entry) => [entry.name, entry.isDirectory, entry.sizeBytes, entry.isLink ?? false]).sort()).toEqual([
      ['file', false, 7, false],
      ['folder', true, 0, false],
      ['to-file', false, 7, true],
      ['to-folder', true, 0, true],
      ['to-itself', false, 0, true],
      ['to-nothing', false, 0, true],
    ]);
    for (const entry of entries) expect(await driver.stat(`/${entry.name}` as MountPath)).toEqual(entry);
    expect(await textOf(await driver.read(mpath('/to-folder/inner')))).toBe('inner');
    expect(await code(driver.read(mpath('/to-nothing')))).toBe('ENTRY_NOT_FOUND');

    for (const path of [
      '/to-outside',
      '/to-secret',
      '/to-beside',
      '/to-etc',
      '/to-outside/secret',
      '/to-beside/secret',
      '/to-etc/passwd',
    ]) {
      const at = mpath(path);
      expect(await code(driver.stat(at))).toBe('PERMISSION_DENIED');
      expect(await code(driver.read(at))).toBe('PERMISSION_DENIED');
      expect(await code(Array.fromAsync(driver.list(at)))).toBe('PERMISSION_DENIED');
      expect(await code(driver.copy(at, mpath('/copied'), { overwrite: true }))).toBe('PERMISSION_DENIED');
    }
    for (const at of [mpath('/to-outside/new'), mpath('/to-outside/a/b')]) {
      expect(await code(driver.write(at, bytesOf('x'), { overwrite: true }))).toBe('PERMISSION_DENIED');
      expect(await code(driver.makeDirectory(at))).toBe('PERMISSION_DENIED');
      expect(await code(driver.openDraft(at, '0'.repeat(32), { create: true }))).toBe('PERMISSION_DENIED');
      expect(await code(driver.rename(mpath('/file'), at, { overwrite: true }))).toBe('PERMISSION_DENIED');
    }
    expect(await code(driver.remove(mpath('/to-outside/secret'), { recursive: true }))).toBe('PERMISSION_DENIED');

    // A link goes, and what it led to stays.
    for (const name of ['to-outside', 'to-folder', 'to-new-outside']) await driver.remove(mpath(`/${name}`), { recursive: true });
    expect(await textOf(await driver.read(mpath('/folder/inner')))).toBe('inner');
    const hiding = await openSftp({ ...items, ignore_symlink_error: true });
    expect((await Array.fromAsync(hiding.list(mpath('/')))).map(({ name }) => name).sort()).toEqual(['file', 'folder', 'to-file']);
    expect(await code(hiding.stat(mpath('/to-nothing')))).toBe('ENTRY_NOT_FOUND');
  });

  it('lead where they led when they are moved, also past a folder that is called the same elsewhere', async () => {
    const driver = await openSftp(itemsOf(server));
    for (const [file, text] of Object.entries({ '/m/a/real': 'real', '/m/b/c/real': 'other', '/m/a/deep/file': 'x' }))
      await driver.write(mpath(file), bytesOf(text), { overwrite: true });
    const at = (path: string) => join(server.folder, 'm', path);
    const links = { 'a/link': 'real', 'a/none': 'nothing', 'a/whole': `${server.rootPath}/m/a/real`, 'a/up': '../a/deep' };
    for (const [link, text] of Object.entries(links)) await symlink(text, at(link));
    const move = (from: string, to: string) => driver.rename(mpath(`/m/${from}`), mpath(`/m/${to}`), { overwrite: false });
    expect(await move('a/link', 'b/c/link')).toMatchObject({ name: 'link', sizeBytes: 4 });
    expect(await textOf(await driver.read(mpath('/m/b/c/link')))).toBe('real');
    await move('a/none', 'b/c/none');
    await move('a/whole', 'b/c/whole');
    await move('a/up', 'b/c/up');
    await move('b/c/up', 'b/c/same-folder');
    const texts = await Promise.all(['link', 'none', 'whole', 'same-folder'].map((name) => readlink(at(`b/c/${name}`))));
    expect(texts).toEqual(['../../a/real', '../../a/nothing', `${server.rootPath}/m/a/real`, '../../a/deep']);
    expect((await readdir(at('a'))).sort()).toEqual(['deep', 'real']);
    await symlink('real', at('a/link'));
    expect(await code(move('a/link', 'b/c/link'))).toBe('ENTRY_EXISTS');
    expect((await readdir(at('b/c'))).sort()).toEqual(['link', 'none', 'real', 'same-folder', 'whole']);
  });

  it('out of a folder keep it from being moved in one step, where that would lead them elsewhere', async () => {
    const driver = await openSftp(itemsOf(server));
    for (const folder of ['/f/in/deep', '/f/out/deep', '/f/to']) await driver.makeDirectory(mpath(folder));
    const at = (path: string) => join(server.folder, 'f', path);
    await symlink('../deep', at('in/deep/back'));
    await symlink('/etc', at('in/deep/whole'));
    await symlink('../../secret', at('out/deep/link'));
    const move = (from: string, to: string) => driver.rename(mpath(`/f/${from}`), mpath(`/f/${to}`), { overwrite: false });
    expect(await code(move('out', 'to/out'))).toBe('UNSUPPORTED_OPERATION');
    await move('out', 'other');
    expect(await readlink(at('other/deep/link'))).toBe('../../secret');
    await move('in', 'to/in');
    expect(await readdir(at('to/in/deep'))).toHaveLength(2);
  });

  it('are removed with their folder, and what they lead to is not', async () => {
    const elsewhere = await makeTempDir('sftp-links');
    await writeFile(join(elsewhere.path, 'precious'), 'x');
    const driver = await openSftp(itemsOf(server));
    await driver.makeDirectory(mpath('/tree/deeper'));
    await symlink(elsewhere.path, join(server.folder, 'tree', 'deeper', 'link'));
    await driver.remove(mpath('/tree'), { recursive: true });
    expect(await code(driver.stat(mpath('/tree')))).toBe('ENTRY_NOT_FOUND');
    expect(await readdir(elsewhere.path)).toEqual(['precious']);
    await elsewhere.remove();
  });
});
