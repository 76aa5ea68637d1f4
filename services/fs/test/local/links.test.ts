import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { link, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { at, codeOf, makeFolders, namesIn, openLocal, put, settledNames, textOf } from './open-local.ts';

describe('links', () => {
  it('inside the root are followed, and listed as what they lead to', async () => {
    const { root } = await makeFolders();
    await mkdir(path.join(root, 'real/sub'), { recursive: true });
    await writeFile(path.join(root, 'real/file'), 'content');
    await symlink('real', path.join(root, 'folder-link'));
    await symlink(path.join(root, 'real/file'), path.join(root, 'file-link'));
    const driver = await openLocal(root);
    expect(await driver.stat(at('/folder-link'))).toMatchObject({ name: 'folder-link', isDirectory: true, isLink: true });
    expect(await driver.stat(at('/file-link'))).toMatchObject({ isDirectory: false, sizeBytes: 7, isLink: true });
    expect(await namesIn(driver, '/folder-link')).toEqual(['file', 'sub']);
    expect(await textOf(driver, '/folder-link/file')).toBe('content');
    expect(await textOf(driver, '/file-link')).toBe('content');
    const listed = await Array.fromAsync(driver.list(at('/')));
    for (const entry of listed) expect(await driver.stat(at(`/${entry.name}`))).toEqual(entry);
    expect((await driver.listNames(at('/'), undefined))?.directories).toEqual(new Set(['folder-link', 'real']));
  });

  it('out of the root lead nowhere, for every operation', async () => {
    const { root, outside } = await makeFolders();
    await writeFile(path.join(outside, 'secret'), 'secret content');
    await symlink(outside, path.join(root, 'way-out'));
    await symlink(path.join(outside, 'secret'), path.join(root, 'secret-link'));
    await symlink('../outside', path.join(root, 'relative-way-out'));
    const driver = await openLocal(root);
    for (const way of ['/way-out', '/relative-way-out']) {
      expect(await driver.stat(at(way))).toMatchObject({ isDirectory: false, isLink: true });
      expect(await codeOf(Array.fromAsync(driver.list(at(way))))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.stat(at(`${way}/secret`)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.read(at(`${way}/secret`)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(put(driver, `${way}/new`, 'x'))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(put(driver, way, 'x'))).toBe('PERMISSION_DENIED');
      expect(await codeOf(driver.makeDirectory(at(`${way}/new`)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.remove(at(`${way}/secret`), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.rename(at(`${way}/secret`), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.copy(at(`${way}/secret`), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.listNames(at(way), undefined))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.statMany(at(way), []))).toBe('ENTRY_NOT_FOUND');
    }
    expect(await codeOf(driver.read(at('/secret-link')))).toBe('ENTRY_NOT_FOUND');
    expect(await codeOf(put(driver, '/secret-link', 'x'))).toBe('PERMISSION_DENIED');
    expect(await codeOf(driver.copy(at('/secret-link'), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
    expect((await driver.stat(at('/secret-link'))).sizeBytes).not.toBe('secret content'.length);
    expect(await readdir(outside)).toEqual(['secret']);
    expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('secret content');
    await settledNames(root);
  });

  it('without a target are listed, but a write never makes the target', async () => {
    const { root, outside } = await makeFolders();
    await symlink(path.join(outside, 'not-yet'), path.join(root, 'dangling'));
    await symlink('loop', path.join(root, 'loop'));
    const driver = await openLocal(root);
    expect(await namesIn(driver, '/')).toEqual(['dangling', 'loop']);
    for (const name of ['/dangling', '/loop']) {
      expect(await codeOf(put(driver, name, 'x'))).toBe('PERMISSION_DENIED');
      expect(await codeOf(put(driver, name, 'x', false))).toBe('ENTRY_EXISTS');
      expect(await codeOf(driver.makeDirectory(at(name)))).toBe('ENTRY_EXISTS');
      expect(await codeOf(driver.read(at(name)))).toBe('ENTRY_NOT_FOUND');
    }
    expect(await codeOf(put(driver, '/dangling/below', 'x'))).toBe('NOT_A_DIRECTORY');
    expect(await readdir(outside)).toEqual([]);
    await settledNames(root);
  });

  it('stay links when content is written to their target', async () => {
    const { root } = await makeFolders();
    await mkdir(path.join(root, 'd'));
    await writeFile(path.join(root, 'd/target'), 'old');
    await symlink('d/target', path.join(root, 'link'));
    const driver = await openLocal(root);
    expect(await put(driver, '/link', 'new')).toMatchObject({ name: 'link', sizeBytes: 3 });
    expect(await readlink(path.join(root, 'link'))).toBe('d/target');
    expect(await readFile(path.join(root, 'd/target'), 'utf8')).toBe('new');
  });

  it('are renamed and removed themselves, never their targets', async () => {
    const { root, outside } = await makeFolders();
    await writeFile(path.join(outside, 'kept'), 'x');
    await mkdir(path.join(root, 'tree/deep'), { recursive: true });
    for (const place of ['a', 'tree/b', 'tree/deep/c']) await symlink(outside, path.join(root, place));
    const driver = await openLocal(root);
    await driver.rename(at('/a'), at('/renamed'), { overwrite: false });
    expect((await lstat(path.join(root, 'renamed'))).isSymbolicLink()).toBe(true);
    await driver.remove(at('/renamed'), { recursive: true });
    await driver.remove(at('/tree'), { recursive: true });
    expect(await settledNames(root)).toEqual([]);
    expect(await readdir(outside)).toEqual(['kept']);
  });

  it('are copied as links within a folder', async () => {
    const { root, outside } = await makeFolders();
    await writeFile(path.join(outside, 'secret'), 'x');
    await mkdir(path.join(root, 'tree'));
    await symlink(outside, path.join(root, 'tree/out'));
    const driver = await openLocal(root);
    await driver.copy(at('/tree'), at('/copied'), { overwrite: false });
    expect(await readlink(path.join(root, 'copied/out'))).toBe(outside);
    expect(await codeOf(driver.read(at('/copied/out/secret')))).toBe('ENTRY_NOT_FOUND');
  });

  it('to another name of the same file count as two names', async () => {
    const { root } = await makeFolders();
    await writeFile(path.join(root, 'a'), 'x');
    await link(path.join(root, 'a'), path.join(root, 'b'));
    const driver = await openLocal(root);
    expect(await codeOf(driver.rename(at('/a'), at('/b'), { overwrite: false }))).toBe('ENTRY_EXISTS');
    await driver.rename(at('/a'), at('/b'), { overwrite: true });
    expect(await settledNames(root)).toEqual(['b']);
    await link(path.join(root, 'b'), path.join(root, 'c'));
    await put(driver, '/b', 'new');
    expect(await readFile(path.join(root, 'c'), 'utf8')).toBe('x');
  });
});

it('a root that is a link is resolved once', async () => {
  const { base, root } = await makeFolders();
  await writeFile(path.join(root, 'file'), 'x');
  await symlink(root, path.join(base, 'root-link'));
  const driver = await openLocal(path.join(base, 'root-link'));
  expect(await namesIn(driver, '/')).toEqual(['file']);
});

it.runIf(process.platform !== 'win32')('a pipe is listed with no size, and reading or replacing it is refused at once', async () => {
  const { root } = await makeFolders();
  execFileSync('mkfifo', [path.join(root, 'pipe')]);
  const driver = await openLocal(root);
  expect(await driver.stat(at('/pipe'))).toMatchObject({ isDirectory: false, sizeBytes: 0 });
  expect(await namesIn(driver, '/')).toEqual(['pipe']);
  expect(await codeOf(driver.read(at('/pipe')))).toBe('UNSUPPORTED_OPERATION');
  expect(await codeOf(put(driver, '/pipe', 'x'))).toBe('UNSUPPORTED_OPERATION');
  expect(await codeOf(driver.copy(at('/pipe'), at('/copy'), { overwrite: false }))).toBe('UNSUPPORTED_OPERATION');
  await driver.remove(at('/pipe'), { recursive: false });
  expect(existsSync(path.join(root, 'pipe'))).toBe(false);
});

describe('a relative link that is carried to another folder', () => {
  /** `home` is what somebody may see; the link in it leads to a place in it, and would lead out of it from other folders. */
  async function openHome() {
    const { root } = await makeFolders();
    await mkdir(path.join(root, 'home/a/b'), { recursive: true });
    await writeFile(path.join(root, 'home/own'), 'own');
    await writeFile(path.join(root, 'own'), 'foreign');
    await symlink('../../own', path.join(root, 'home/a/b/link'));
    return { root, driver: await openLocal(root) };
  }

  it('leads to the same place', async () => {
    const { root, driver } = await openHome();
    await driver.rename(at('/home/a/b/link'), at('/home/link'), { overwrite: false });
    expect(await readlink(path.join(root, 'home/link'))).toBe('own');
    expect(await textOf(driver, '/home/link')).toBe('own');
    await driver.rename(at('/home/link'), at('/home/a/b/renamed'), { overwrite: false });
    await driver.rename(at('/home/a/b/renamed'), at('/home/a/b/again'), { overwrite: false });
    expect(await textOf(driver, '/home/a/b/again')).toBe('own');
    expect(await namesIn(driver, '/home/a/b')).toEqual(['again']);
    await put(driver, '/home/taken', 'taken');
    expect(await codeOf(driver.rename(at('/home/a/b/again'), at('/home/taken'), { overwrite: false }))).toBe('ENTRY_EXISTS');
    await driver.rename(at('/home/a/b/again'), at('/home/taken'), { overwrite: true });
    expect(await textOf(driver, '/home/taken')).toBe('own');
    await settledNames(root);
  });

  it('without a target stays without one', async () => {
    const { root, driver } = await openHome();
    await symlink('../none', path.join(root, 'home/a/dangling'));
    await writeFile(path.join(root, 'none'), 'foreign');
    await driver.rename(at('/home/a/dangling'), at('/home/dangling'), { overwrite: false });
    expect(await readlink(path.join(root, 'home/dangling'))).toBe('none');
    expect(await codeOf(driver.read(at('/home/dangling')))).toBe('ENTRY_NOT_FOUND');
  });

  it('with its folder is not moved in one step, and in a copy leads to the same place', async () => {
    const { root, driver } = await openHome();
    await symlink('own-in-b', path.join(root, 'home/a/b/inner'));
    await writeFile(path.join(root, 'home/a/b/own-in-b'), 'inner');
    expect(await codeOf(driver.rename(at('/home/a/b'), at('/home/b'), { overwrite: false }))).toBe('UNSUPPORTED_OPERATION');
    expect(await codeOf(driver.rename(at('/home/a'), at('/home/b'), { overwrite: false }))).toBe('done');
    await driver.copy(at('/home/b/b'), at('/home/copy'), { overwrite: false });
    expect(await textOf(driver, '/home/copy/link')).toBe('own');
    expect(await readlink(path.join(root, 'home/copy/inner'))).toBe('own-in-b');
    expect(await textOf(driver, '/home/copy/inner')).toBe('inner');
  });

  it('inside its folder goes along with it', async () => {
    const { root, driver } = await openHome();
    await mkdir(path.join(root, 'd/e'), { recursive: true });
    await writeFile(path.join(root, 'd/f'), 'text');
    await symlink('../f', path.join(root, 'd/e/link'));
    await driver.rename(at('/d'), at('/home/d'), { overwrite: false });
    expect(await textOf(driver, '/home/d/e/link')).toBe('text');
    await symlink('e/../f', path.join(root, 'home/d/doubtful'));
    expect(await codeOf(driver.rename(at('/home/d'), at('/d'), { overwrite: false }))).toBe('UNSUPPORTED_OPERATION');
  });
});
