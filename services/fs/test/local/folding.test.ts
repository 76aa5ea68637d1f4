import fs from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeTempDir } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfinedRoot } from '../../src/drivers/local/confined-root.ts';
import { probeNames } from '../../src/drivers/local/probe-names.ts';
import { SpelledNames } from '../../src/drivers/local/spelled-names.ts';
import { TempArea } from '../../src/drivers/local/temp-area.ts';
import { foldingDisks } from './folding-disks.ts';
import { foldNames } from './folding-double.ts';
import { at, codeOf, debrisIn, type LocalStorage, makeFolders, namesIn, put, settledNames, textOf } from './open-local.ts';

/** lowntfs-3g keeps a folder while a file is open that was moved out of it, so the empty one of temporary files may stay. */
const leftIn = async (root: string) => (await debrisIn(root)).filter((name) => name !== '.wharf-tmp');

describe.each(await foldingDisks())('on $title', ({ driver, keepsSpelling, makeFolder }) => {
  async function open(): Promise<{ root: string; storage: LocalStorage }> {
    const root = await makeFolder();
    await mkdir(path.join(root, 'secret/deep'), { recursive: true });
    await writeFile(path.join(root, 'secret/file'), 'text');
    const storage = await driver.open(JSON.stringify({ root_folder_path: root, show_hidden: true }));
    onTestFinished(() => storage.close());
    return { root, storage: storage as LocalStorage };
  }

  it('an entry has one path', async () => {
    const { root, storage } = await open();
    expect(fs.statSync(path.join(root, 'SECRET/FILE')).size).toBe(4);
    expect(storage.traits.caseSensitive).toBe(false);
    expect(await textOf(storage, '/secret/file')).toBe('text');
    expect((await storage.stat(at('/secret/deep'))).isDirectory).toBe(true);
    for (const alias of ['/SECRET', '/secret/FILE', '/SECRET/file', '/secret/DEEP', '/secret/deep/none', '/SECRET/deep'])
      expect(await codeOf(storage.stat(at(alias)))).toBe('ENTRY_NOT_FOUND');
    for (const alias of ['/secret/FILE', '/SECRET/file', '/SECRET/none']) {
      expect(await codeOf(storage.read(at(alias)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.remove(at(alias), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.rename(at(alias), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.copy(at(alias), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
    }
    for (const alias of ['/SECRET', '/SECRET/deep', '/secret/DEEP']) {
      expect(await codeOf(namesIn(storage, alias))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.listNames(at(alias), undefined))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.statMany(at(alias), []))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.remove(at(alias), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.rename(at(alias), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.copy(at(alias), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
    }
    const names = ['FILE', 'file', 'none', 'DEEP'] as EntryName[];
    expect((await storage.statMany(at('/secret'), names)).map(({ name }) => name)).toEqual(['file']);
    expect(await namesIn(storage, '/')).toEqual(['secret']);
  });

  it('another spelling of what is there is taken, and what is there stays', async () => {
    const { root, storage } = await open();
    await put(storage, '/other', 'other');
    const all = { overwrite: true };
    for (const taken of ['/SECRET', '/SECRET/new', '/SECRET/deep/new', '/secret/FILE', '/secret/DEEP']) {
      expect(await codeOf(put(storage, taken, 'x'))).toBe('ENTRY_EXISTS');
      expect(await codeOf(storage.makeDirectory(at(taken)))).toBe('ENTRY_EXISTS');
      expect(await codeOf(storage.openDraft(at(`${taken}/x`), '0'.repeat(32), { create: true }))).toBe('ENTRY_EXISTS');
    }
    for (const taken of ['/SECRET', '/secret/FILE', '/secret/DEEP']) {
      expect(await codeOf(storage.rename(at('/other'), at(taken), all))).toBe('ENTRY_EXISTS');
      expect(await codeOf(storage.copy(at('/other'), at(taken), all))).toBe('ENTRY_EXISTS');
      expect(await codeOf(storage.copy(at('/secret/deep'), at(taken), all))).toBe('ENTRY_EXISTS');
    }
    for (const below of ['/SECRET/new', '/SECRET/file']) {
      expect(await codeOf(storage.rename(at('/other'), at(below), all))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(storage.copy(at('/other'), at(below), all))).toBe('ENTRY_NOT_FOUND');
    }
    expect(await readFile(path.join(root, 'secret/file'), 'utf8')).toBe('text');
    expect([await namesIn(storage, '/'), await namesIn(storage, '/secret')]).toEqual([
      ['other', 'secret'],
      ['deep', 'file'],
    ]);
    expect(await leftIn(root)).toEqual([]);
  });

  it('everything else goes on as anywhere', async () => {
    const { root, storage } = await open();
    await put(storage, '/made/below/it', 'new');
    await put(storage, '/made/below/it', 'newer');
    await storage.makeDirectory(at('/folder'));
    await storage.copy(at('/made'), at('/copied'), { overwrite: false });
    await storage.rename(at('/made/below/it'), at('/folder/moved'), { overwrite: false });
    await storage.remove(at('/secret'), { recursive: true });
    expect(await textOf(storage, '/folder/moved')).toBe('newer');
    expect(await textOf(storage, '/copied/below/it')).toBe('newer');
    expect(await codeOf(storage.stat(at('/secret')))).toBe('ENTRY_NOT_FOUND');
    expect(await namesIn(storage, '/')).toEqual(['copied', 'folder', 'made']);
    expect(await leftIn(root)).toEqual([]);
  });

  it('an entry gets another spelling of its own name, unless the disk spells as it likes', async () => {
    const { root, storage } = await open();
    const rename = (from: string, to: string) => codeOf(storage.rename(at(from), at(to), { overwrite: false }));
    const makes = [
      put(storage, '/NEW', 'x'),
      storage.makeDirectory(at('/Made/deep')),
      storage.copy(at('/secret'), at('/Copy'), { overwrite: true }),
    ];
    const codes = [
      await Promise.all(makes.map(codeOf)),
      await rename('/secret/file', '/secret/File'),
      await rename('/secret', '/Secret'),
    ].flat();
    expect(codes).toEqual(Array(5).fill(keepsSpelling ? 'done' : 'INVALID_ARGUMENT'));
    expect(await namesIn(storage, '/')).toEqual(keepsSpelling ? ['Copy', 'Made', 'NEW', 'Secret'] : ['secret']);
    expect(await textOf(storage, keepsSpelling ? '/Secret/File' : '/secret/file')).toBe('text');
    expect(await leftIn(root)).toEqual([]);
  });
});

it('the same letters composed otherwise are another spelling', async () => {
  const { root } = await makeFolders();
  await writeFile(path.join(root, 'caf\u00e9'), 'text');
  foldNames(root);
  const confined = new ConfinedRoot(root);
  expect(confined.stat(at('/cafe\u0301')).stats.size).toBe(4);
  confined.guardSpelling();
  expect(() => confined.stat(at('/cafe\u0301'))).toThrow('spelled otherwise');
  expect(confined.stat(at('/caf\u00e9')).stats.size).toBe(4);
});

describe('the probe', () => {
  const probe = (root: string) => {
    const confined = new ConfinedRoot(root);
    return probeNames(confined, new TempArea(confined));
  };

  it('tells disks apart, and leaves nothing', async () => {
    const { root } = await makeFolders();
    expect(await probe(root)).toEqual({ caseSensitive: true, folds: false });
    foldNames(root);
    expect(await probe(root)).toEqual({ caseSensitive: false, folds: true });
    expect(await settledNames(root)).toEqual([]);
  });

  it('goes by the names that are there where nothing can be written, and takes none to mean that they fold', async () => {
    const { root } = await makeFolders();
    const refuse = () => {
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    };
    vi.spyOn(fs, 'mkdirSync').mockImplementation(refuse);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await probe(root)).toMatchObject({ folds: true });
    await writeFile(path.join(root, '1'), '');
    expect(await probe(root)).toMatchObject({ folds: true });
    await writeFile(path.join(root, 'name'), '');
    expect(await probe(root)).toMatchObject({ folds: false });
    foldNames(root);
    vi.spyOn(fs, 'mkdirSync').mockImplementation(refuse);
    expect(await probe(root)).toMatchObject({ folds: true });
  });
});

describe('the names of a folder', () => {
  it('are read once while it rests, however many are asked for; and again in a while for what is not among them', async () => {
    const dir = await makeTempDir('spelled');
    onTestFinished(() => dir.remove());
    for (const name of ['a', 'b', 'c', 'd']) await writeFile(path.join(dir.path, name), '');
    const folder = new ConfinedRoot(dir.path).holdFolder(at('/'));
    onTestFinished(() => folder.close());
    // A multiple of five seconds.
    const now = Math.ceil(Date.now() / 5_000 + 2) * 5_000;
    vi.useFakeTimers({ toFake: ['Date'], now });
    onTestFinished(() => void vi.useRealTimers());
    const reads = vi.spyOn(fs, 'opendirSync');
    onTestFinished(() => void vi.restoreAllMocks());
    const names = new SpelledNames();
    for (const count of [1, 2, 4]) {
      for (const name of ['a', 'b', 'c', 'd'].slice(0, count)) expect(names.absentIn(folder, [name])).toEqual([]);
      expect(reads).toHaveBeenCalledTimes(1);
    }
    expect(names.absentIn(folder, ['a', 'B', 'c', 'e'])).toEqual([1, 3]);
    expect(reads).toHaveBeenCalledTimes(1);
    vi.setSystemTime(now + 5_000);
    expect(names.absentIn(folder, ['a', 'B', 'c', 'e'])).toEqual([1, 3]);
    expect(reads).toHaveBeenCalledTimes(2);
    await writeFile(path.join(dir.path, 'e'), '');
    expect(names.absentIn(folder, ['e'])).toEqual([]);
  });

  it('are not looked at where names do not fold', async () => {
    const { root } = await makeFolders();
    await mkdir(path.join(root, 'a/b'), { recursive: true });
    await writeFile(path.join(root, 'a/b/file'), 'text');
    const reads = vi.spyOn(fs, 'opendirSync');
    onTestFinished(() => void vi.restoreAllMocks());
    const confined = new ConfinedRoot(root);
    confined.holdFolder(at('/a/b')).close();
    confined.stat(at('/a/b/file'));
    fs.closeSync(confined.openFile(at('/a/b/file')).fd);
    expect(reads).not.toHaveBeenCalled();
  });
});
