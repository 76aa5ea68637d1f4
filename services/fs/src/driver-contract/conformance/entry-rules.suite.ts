import { readFile, realpath } from 'node:fs/promises';
import { type EntryName, MOUNT_ROOT, parentPath } from '@wharf/paths';
import { expect } from 'vitest';
import { decorated, operationsOf } from '../complete-driver.ts';
import { walkTree } from '../walk-tree.ts';
import { at, codeOf, entriesIn, namesIn, put, refuses, settledVersion } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

export function entryRules(rule: Rule): void {
  rule('the root is a folder named root', [], async (driver) => {
    expect(await driver.stat(MOUNT_ROOT)).toMatchObject({ name: 'root', isDirectory: true });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a file has its name, size and a date', ['write'], async (driver) => {
    const before = Date.now() - 60_000;
    const written = await put(driver, '/a.txt', 'hello');
    expect(written).toMatchObject({ name: 'a.txt', isDirectory: false });
    expect([5, undefined]).toContain(written.sizeBytes);
    expect(await driver.stat(at('/a.txt'))).toEqual(written);
    expect(written.modifiedAt.getTime()).toBeGreaterThan(before);
    expect(written.modifiedAt.getTime()).toBeLessThan(Date.now() + 60_000);
  });
  rule('the size of a file is known to all or to none', ['write'], async (driver) => {
    const sizes = [await put(driver, '/a', 'hello'), await driver.stat(at('/a')), ...(await entriesIn(driver, '/'))];
    expect(new Set(sizes.map(({ sizeBytes }) => sizeBytes)).size).toBe(1);
  });
  rule('the version of a file, where it has one, is another one after each change of its content', ['write'], async (driver) => {
    const first = await put(driver, '/a', 'one');
    expect((await driver.stat(at('/a'))).version).toBe(first.version);
    const second = await put(driver, '/a', 'two');
    if (first.version === undefined) expect(second.version).toBeUndefined();
    else expect(second.version).not.toBe(first.version);
  });
  rule('list and stat say the same', ['write', 'makeDirectory'], async (driver) => {
    await put(driver, '/a', 'hello');
    await driver.makeDirectory(at('/b'));
    for (const entry of await entriesIn(driver, '/')) expect(await driver.stat(at(`/${entry.name}`))).toEqual(entry);
  });
  rule('what is not there is not found', [], async (driver) => {
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/none')));
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/none/deeper')));
    await refuses('ENTRY_NOT_FOUND', entriesIn(driver, '/none'));
    await refuses('ENTRY_NOT_FOUND', driver.read(at('/none')));
  });
  rule('nothing is found below a file', ['write'], async (driver) => {
    await put(driver, '/file', 'x');
    expect(['ENTRY_NOT_FOUND', 'NOT_A_DIRECTORY']).toContain(await codeOf(driver.stat(at('/file/below'))));
  });
  rule('a file cannot be listed', ['write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', entriesIn(driver, '/file'));
  });
  rule('a folder cannot be read', ['makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/folder'));
    await refuses('IS_A_DIRECTORY', driver.read(at('/folder')));
  });
  rule('a whole tree is listed as by walking, folders before what is in them', ['write', 'makeDirectory', 'listAll'], async (driver) => {
    for (const path of ['/a/x', '/a-b/y', '/a.txt', '/a/b/c/deep', '/a/b!', '/é', '/top/😀/z']) await put(driver, path, 'text');
    await driver.makeDirectory(at('/empty/inner'));
    for (const root of ['/', '/a']) {
      const seen = new Set<string>([root]);
      const found: string[] = [];
      for await (const { path, entry } of driver.listAll(at(root))) {
        expect(seen).toContain(parentPath(path));
        expect(seen).not.toContain(path);
        seen.add(path);
        expect(entry).toEqual(await driver.stat(path));
        found.push(path);
      }
      const { listAll: _, ...plain } = operationsOf(driver);
      const walked = await Array.fromAsync(walkTree(decorated({ ...plain, listAll: undefined }), at(root)));
      expect(found.sort()).toEqual(walked.map(({ path }) => path).sort());
    }
    await refuses('ENTRY_NOT_FOUND', Array.fromAsync(driver.listAll(at('/none'))));
    await refuses('NOT_A_DIRECTORY', Array.fromAsync(driver.listAll(at('/a/x'))));
    for await (const _ of driver.listAll(MOUNT_ROOT)) break;
    await refuses('CANCELLED', Array.fromAsync(driver.listAll(MOUNT_ROOT, { signal: AbortSignal.abort() })));
  });
  rule('a listing may be left early', ['write'], async (driver) => {
    for (const name of ['a', 'b', 'c']) await put(driver, `/${name}`, name);
    for await (const entry of driver.list(MOUNT_ROOT)) {
      expect(entry.isDirectory).toBe(false);
      break;
    }
    expect(await namesIn(driver, '/')).toHaveLength(3);
  });
  rule(
    'names come in byte order with their kind, and their version holds until they change',
    ['write', 'makeDirectory', 'listNames'],
    async (driver) => {
      const upper = driver.traits.caseSensitive ? 'B' : 'Bc';
      for (const name of ['b', upper, '10', '9', 'é', '\uffee', '😀']) await put(driver, `/d/${name}`, 'x');
      await driver.makeDirectory(at('/d/folder'));
      const first = await driver.listNames(at('/d'), undefined);
      expect(first?.names).toEqual(['10', '9', upper, 'b', 'folder', 'é', '\uffee', '😀']);
      expect([...(first?.directories ?? [])]).toEqual(['folder']);
      if (first?.version !== undefined) expect(await driver.listNames(at('/d'), first.version)).toBeUndefined();
      await put(driver, '/d/another', 'x');
      expect((await driver.listNames(at('/d'), first?.version))?.names).toContain('another');
      await refuses('ENTRY_NOT_FOUND', driver.listNames(at('/none'), undefined));
      await refuses('NOT_A_DIRECTORY', driver.listNames(at('/d/b'), undefined));
    },
  );
  rule(
    'entries of many names come in the order asked for, without those that are gone',
    ['write', 'makeDirectory', 'statMany'],
    async (driver) => {
      for (const name of ['a', 'b', 'c']) await put(driver, `/d/${name}`, name);
      await driver.makeDirectory(at('/d/folder'));
      const entries = await driver.statMany(at('/d'), ['c', 'none', 'folder', 'a'] as EntryName[]);
      expect(entries.map((entry) => entry.name)).toEqual(['c', 'folder', 'a']);
      for (const entry of entries) expect(await driver.stat(at(`/d/${entry.name}`))).toEqual(entry);
      await refuses('ENTRY_NOT_FOUND', driver.statMany(at('/none'), ['a'] as EntryName[]));
    },
  );
  rule(
    'a file of this machine is where the storage says, and nothing else is found',
    ['write', 'makeDirectory', 'findOnHost'],
    async (driver) => {
      await put(driver, '/d/a file', 'what it holds');
      const { entry, hostPath } = await driver.findOnHost(at('/d/a file'));
      expect(await readFile(hostPath, 'utf8')).toBe('what it holds');
      expect(hostPath).toBe(await realpath(hostPath));
      expect(entry).toEqual(await driver.stat(at('/d/a file')));
      await refuses('ENTRY_NOT_FOUND', driver.findOnHost(at('/d/none')));
      await refuses('IS_A_DIRECTORY', driver.findOnHost(at('/d')));
    },
  );
  rule('entries under a version come as long as the names stay', ['write', 'listNames', 'statMany'], async (driver) => {
    await put(driver, '/d/a', 'x');
    await refuses('STALE_VERSION', driver.statMany(at('/d'), ['a'] as EntryName[], { ifVersion: 'another' }));
    const ifVersion = await settledVersion(driver, '/d');
    expect(await driver.statMany(at('/d'), ['a'] as EntryName[], { ifVersion })).toHaveLength(1);
    expect(await driver.listNames(at('/d'), ifVersion)).toBeUndefined();
    await put(driver, '/d/b', 'x');
    await refuses('STALE_VERSION', driver.statMany(at('/d'), ['a'] as EntryName[], { ifVersion }));
    expect((await driver.listNames(at('/d'), ifVersion))?.names).toEqual(['a', 'b']);
  });
}
