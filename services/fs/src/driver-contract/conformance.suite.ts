import { createHash } from 'node:crypto';
import { AppError, type ErrorCode } from '@wharf/errors';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { type EntryName, MOUNT_ROOT, type MountPath, parseVirtualPath, relativeTo, sortNames, VIRTUAL_ROOT } from './paths.ts';
import { type CallOptions, type Entry, type OptionalOperation, type StorageDriver, supports, type WriteOptions } from './storage-driver.ts';

export interface DriverUnderTest {
  readonly name: string;
  /** A new, empty storage for each rule. May use `onTestFinished` of vitest to clean up behind it. */
  readonly open: () => Promise<StorageDriver>;
  /** Rules this driver is known to break, by title, with the reason. Each runs and must fail. */
  readonly knownGaps?: Readonly<Record<string, string>>;
}

type Able<Ops extends OptionalOperation> = StorageDriver & Required<Pick<StorageDriver, Ops>>;
type Body<Ops extends OptionalOperation> = (driver: Able<Ops>, test: TestContext) => Promise<void>;
type Rule = <const Ops extends OptionalOperation>(title: string, operations: readonly Ops[], body: Body<Ops>) => void;

const CHUNK_EDGES_BYTES = [0, 1, 65_535, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577, 3_000_001];
const ODD_NAMES = [
  'caf\u00e9',
  'cafe\u0301',
  '😀',
  '.leading-dot',
  'trailing space ',
  ' leading space',
  'trailing-dot.',
  "quote's",
  '"double"',
  '%2F',
  '%2e%2e',
  '..%2f',
  '...',
  'a..b',
  '$HOME',
  '`id`',
  'a;b|c&d',
  '*?[x]',
  '<b>',
  'C:',
  '~',
  '-rf',
  'CON',
  'x\u007f',
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
];

/** Holds a driver to the contract of `storage-driver.ts`: one sentence for each rule. */
export function describeDriver({ name, open, knownGaps = {} }: DriverUnderTest): void {
  const titles = new Set<string>();
  const rule: Rule = <const Ops extends OptionalOperation>(title: string, operations: readonly Ops[], body: Body<Ops>) => {
    titles.add(title);
    const run = async (test: TestContext) => {
      const driver = await open();
      onTestFinished(() => driver.close());
      const absent = operations.find((operation) => !supports(driver, operation));
      if (absent !== undefined) test.skip(`${name} has no ${absent}`);
      await body(driver as Able<Ops>, test);
    };
    if (Object.hasOwn(knownGaps, title)) it.fails(`${title} (known gap: ${knownGaps[title]})`, run);
    else it(title, run);
  };

  describe(`driver ${name}`, () => {
    describe('entries', () => entryRules(rule));
    describe('content', () => contentRules(rule));
    describe('names', () => nameRules(rule));
    describe('making and removing', () => folderRules(rule));
    describe('rename', () => renameRules(rule));
    describe('copy', () => copyRules(rule));
    describe('cancellation and failure', () => failureRules(rule));
    describe('two at once', () => raceRules(rule));
    describe('traits and life', () => lifeRules(rule));
    it('the known gaps are rules of this suite', () => {
      for (const gap of Object.keys(knownGaps)) expect(titles).toContain(gap);
    });
  });
}

function entryRules(rule: Rule): void {
  rule('the root is a folder named root', [], async (driver) => {
    expect(await driver.stat(MOUNT_ROOT)).toMatchObject({ name: 'root', isDirectory: true });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a file has its name, size and a date', ['write'], async (driver) => {
    const before = Date.now() - 60_000;
    const written = await put(driver, '/a.txt', 'hello');
    expect(written).toMatchObject({ name: 'a.txt', isDirectory: false, sizeBytes: 5 });
    expect(await driver.stat(at('/a.txt'))).toEqual(written);
    expect(written.modifiedAt.getTime()).toBeGreaterThan(before);
    expect(written.modifiedAt.getTime()).toBeLessThan(Date.now() + 60_000);
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
  rule('a listing of 10,000 entries has each once', ['write'], async (driver) => {
    const names = Array.from({ length: 10_000 }, (_, index) => `entry-${index}`);
    for (let from = 0; from < names.length; from += 100) {
      await Promise.all(names.slice(from, from + 100).map((name) => put(driver, `/big/${name}`, '')));
    }
    expect((await namesIn(driver, '/big')).sort()).toEqual(names.sort());
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
      for (const name of ['b', 'B', '10', '9', 'é', '\uffee', '😀']) await put(driver, `/d/${name}`, 'x');
      await driver.makeDirectory(at('/d/folder'));
      const first = await driver.listNames(at('/d'), undefined);
      expect(first?.names).toEqual(['10', '9', 'B', 'b', 'folder', 'é', '\uffee', '😀']);
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
}

function contentRules(rule: Rule): void {
  for (const sizeBytes of CHUNK_EDGES_BYTES) {
    rule(`${sizeBytes} bytes come back as they went`, ['write'], async (driver) => {
      const content = pattern(sizeBytes);
      expect((await put(driver, '/file', content, { sizeBytes })).sizeBytes).toBe(sizeBytes);
      const read = await driver.read(at('/file'));
      expect(read.entry).toEqual(await driver.stat(at('/file')));
      expect(digest(await collect(read))).toBe(digest(content));
    });
  }
  rule('a range gives exactly its bytes', ['write'], async (driver) => {
    const content = pattern(2_500_000);
    await put(driver, '/file', content);
    for (const [offsetBytes, lengthBytes] of [
      [0, 1],
      [0, 2_500_000],
      [1, 10],
      [65_535, 2],
      [1_048_575, 1_048_578],
      [2_499_999, 1],
      [5, 0],
    ] as const) {
      const bytes = await collect(await driver.read(at('/file'), { offsetBytes, lengthBytes }));
      expect(digest(bytes)).toBe(digest(content.subarray(offsetBytes, offsetBytes + lengthBytes)));
    }
    expect(await collect(await driver.read(at('/file'), { offsetBytes: 2_499_990 }))).toHaveLength(10);
  });
  rule('a range past the end gives what is there', ['write'], async (driver) => {
    await put(driver, '/file', 'hello');
    expect(text(await collect(await driver.read(at('/file'), { offsetBytes: 3, lengthBytes: 1000 })))).toBe('lo');
    await put(driver, '/empty', '');
    expect(await collect(await driver.read(at('/empty'), { offsetBytes: 0, lengthBytes: 1000 }))).toHaveLength(0);
  });
  rule('a range that begins at or behind the end is refused', ['write'], async (driver) => {
    await put(driver, '/file', 'hello');
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: 5 }));
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: 6, lengthBytes: 1 }));
    await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/file'), { offsetBytes: Number.MAX_SAFE_INTEGER }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: -1 }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: 0, lengthBytes: -1 }));
    await refuses('INVALID_ARGUMENT', driver.read(at('/file'), { offsetBytes: 0.5 }));
  });
  rule('reading may end early, and the file is free again', ['write', 'remove'], async (driver) => {
    await put(driver, '/file', pattern(5_000_000));
    for (let round = 0; round < 20; round++) {
      for await (const chunk of await driver.read(at('/file'))) {
        expect(chunk.byteLength).toBeGreaterThan(0);
        break;
      }
    }
    await driver.remove(at('/file'), { recursive: false });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/file')));
  });
  rule('a reader that has begun sees one file, also when it is replaced', ['write'], async (driver) => {
    const [old, next] = [pattern(3_000_000), Buffer.alloc(3_000_000, 7)];
    await put(driver, '/file', old);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await driver.read(at('/file'))) {
      if (chunks.length === 0) await put(driver, '/file', next);
      chunks.push(chunk);
    }
    expect(digest(Buffer.concat(chunks))).toBe(digest(old));
    expect(digest(await collect(await driver.read(at('/file'))))).toBe(digest(next));
  });
  rule('an existing file is replaced when asked', ['write'], async (driver) => {
    await put(driver, '/file', pattern(100_000));
    await put(driver, '/file', 'short');
    expect(await textOf(driver, '/file')).toBe('short');
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
  rule('an existing file is refused unless asked', ['write'], async (driver) => {
    await put(driver, '/file', 'old');
    await refuses('ENTRY_EXISTS', put(driver, '/file', 'new', { overwrite: false }));
    expect(await textOf(driver, '/file')).toBe('old');
    await put(driver, '/other', 'new', { overwrite: false });
    expect(await textOf(driver, '/other')).toBe('new');
  });
  rule('a file cannot take the place of a folder', ['write', 'makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/folder'));
    await refuses('IS_A_DIRECTORY', put(driver, '/folder', 'x'));
    await refuses('ENTRY_EXISTS', put(driver, '/folder', 'x', { overwrite: false }));
    await refuses('IS_A_DIRECTORY', put(driver, '/', 'x'));
  });
  rule('missing folders above a file are made', ['write'], async (driver) => {
    await put(driver, '/a/b/c/file', 'x');
    expect(await driver.stat(at('/a/b/c'))).toMatchObject({ name: 'c', isDirectory: true });
  });
  rule('a file is no folder to write into', ['write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', put(driver, '/file/below', 'y'));
  });
  rule('another size than announced is refused, and nothing is stored', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    for (const sizeBytes of [0, 4, 6, 1_000_000]) {
      await refuses('INVALID_ARGUMENT', put(driver, '/new', 'hello', { sizeBytes }));
      await refuses('INVALID_ARGUMENT', put(driver, '/old', 'hello', { sizeBytes }));
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('another hash than announced is refused, and nothing is stored', ['write'], async (driver) => {
    const sha256 = digest(Buffer.from('hello'));
    await refuses('CONTENT_CORRUPT', put(driver, '/file', 'hellO', { expectedHashes: { sha256 } }));
    await refuses('CONTENT_CORRUPT', put(driver, '/file', 'hello', { expectedHashes: { md5: '0'.repeat(32), sha256 } }));
    expect(await namesIn(driver, '/')).toEqual([]);
    await put(driver, '/file', 'hello', { expectedHashes: { sha256: sha256.toUpperCase() } });
    expect(await textOf(driver, '/file')).toBe('hello');
  });
}

function nameRules(rule: Rule): void {
  rule('odd names are kept exactly', ['write', 'remove'], async (driver) => {
    const names = ODD_NAMES.filter((name) => Buffer.byteLength(name) <= driver.traits.maxNameBytes);
    for (const name of names) await put(driver, `/${name}`, name);
    expect(sortNames(await namesIn(driver, '/'))).toEqual(sortNames([...names]));
    for (const name of names) expect(await textOf(driver, `/${name}`)).toBe(name);
    for (const name of names) await driver.remove(at(`/${name}`), { recursive: false });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('odd names work for folders, and as targets of a rename', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/start', 'x');
    let current = '/start';
    for (const name of ODD_NAMES.filter((odd) => Buffer.byteLength(odd) <= driver.traits.maxNameBytes)) {
      await driver.makeDirectory(at(`/d/${name}`));
      const next = `/d/${name}/${name}`;
      await driver.rename(at(current), at(next), { overwrite: false });
      current = next;
    }
    expect(await textOf(driver, current)).toBe('x');
  });
  rule('a name longer than the storage keeps is refused', ['write'], async (driver, test) => {
    if (driver.traits.maxNameBytes >= 255) test.skip('the parser refuses it before');
    await refuses('INVALID_ARGUMENT', put(driver, `/${'n'.repeat(driver.traits.maxNameBytes + 1)}`, 'x'));
  });
}

function folderRules(rule: Rule): void {
  rule('a folder is made with those above it', ['makeDirectory'], async (driver, test) => {
    if (!driver.traits.keepsEmptyDirectories) test.skip('folders are not kept without entries');
    expect(await driver.makeDirectory(at('/a/b/c'))).toMatchObject({ name: 'c', isDirectory: true });
    expect(await namesIn(driver, '/a')).toEqual(['b']);
    expect(await namesIn(driver, '/a/b/c')).toEqual([]);
  });
  rule('making a folder that exists is success', ['makeDirectory', 'write'], async (driver) => {
    await put(driver, '/a/file', 'x');
    expect(await driver.makeDirectory(at('/a'))).toMatchObject({ name: 'a', isDirectory: true });
    expect(await driver.makeDirectory(MOUNT_ROOT)).toMatchObject({ isDirectory: true });
    expect(await namesIn(driver, '/a')).toEqual(['file']);
  });
  rule('a folder cannot take the place of a file', ['makeDirectory', 'write'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('ENTRY_EXISTS', driver.makeDirectory(at('/file')));
    await refuses('NOT_A_DIRECTORY', driver.makeDirectory(at('/file/below')));
    expect(await textOf(driver, '/file')).toBe('x');
  });
  rule('a removed file is gone', ['write', 'remove'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await driver.remove(at('/d/file'), { recursive: false });
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/d/file')));
    await refuses('ENTRY_NOT_FOUND', driver.remove(at('/d/file'), { recursive: true }));
  });
  rule('a folder with entries goes only when asked for', ['write', 'makeDirectory', 'remove'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/d'), { recursive: false }));
    expect(await textOf(driver, '/d/e/file')).toBe('x');
    await driver.makeDirectory(at('/empty'));
    await driver.remove(at('/empty'), { recursive: false });
    await driver.remove(at('/d'), { recursive: true });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('the root cannot be removed', ['write', 'remove'], async (driver) => {
    await put(driver, '/file', 'x');
    await refuses('INVALID_ARGUMENT', driver.remove(MOUNT_ROOT, { recursive: true }));
    expect(await textOf(driver, '/file')).toBe('x');
  });
}

function renameRules(rule: Rule): void {
  rule('a file moves with its content and date', ['write', 'makeDirectory', 'rename'], async (driver) => {
    const before = await put(driver, '/a', 'hello');
    await driver.makeDirectory(at('/d'));
    const after = await driver.rename(at('/a'), at('/d/b'), { overwrite: false });
    expect(after).toMatchObject({ name: 'b', sizeBytes: 5, modifiedAt: before.modifiedAt });
    expect(await textOf(driver, '/d/b')).toBe('hello');
    await refuses('ENTRY_NOT_FOUND', driver.stat(at('/a')));
  });
  rule('a folder moves with all it holds', ['write', 'rename'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    expect(await driver.rename(at('/d'), at('/f'), { overwrite: false })).toMatchObject({ name: 'f', isDirectory: true });
    expect(await textOf(driver, '/f/e/file')).toBe('x');
    expect(await namesIn(driver, '/')).toEqual(['f']);
  });
  rule('a rename refuses an existing name unless asked', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.makeDirectory(at('/d'));
    await driver.makeDirectory(at('/empty'));
    await refuses('ENTRY_EXISTS', driver.rename(at('/a'), at('/b'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/a'), at('/d'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/d'), at('/b'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.rename(at('/d'), at('/empty'), { overwrite: false }));
    expect([await textOf(driver, '/a'), await textOf(driver, '/b')]).toEqual(['a', 'b']);
    expect((await namesIn(driver, '/')).sort()).toEqual(['a', 'b', 'd', 'empty']);
  });
  rule('a rename replaces an existing file when asked', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.rename(at('/a'), at('/b'), { overwrite: true });
    expect(await textOf(driver, '/b')).toBe('a');
    expect(await namesIn(driver, '/')).toEqual(['b']);
  });
  rule('a rename never mixes kinds or buries a full folder', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/file', 'x');
    await put(driver, '/full/file', 'y');
    await driver.makeDirectory(at('/d'));
    await refuses('IS_A_DIRECTORY', driver.rename(at('/file'), at('/d'), { overwrite: true }));
    await refuses('NOT_A_DIRECTORY', driver.rename(at('/d'), at('/file'), { overwrite: true }));
    await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/d'), at('/full'), { overwrite: true }));
    expect(await textOf(driver, '/full/file')).toBe('y');
    await driver.rename(at('/full'), at('/d'), { overwrite: true });
    expect(await textOf(driver, '/d/file')).toBe('y');
  });
  rule('a folder does not move into itself', ['write', 'rename'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await refuses('INVALID_ARGUMENT', driver.rename(at('/d'), at('/d/e'), { overwrite: false }));
    await refuses('INVALID_ARGUMENT', driver.rename(MOUNT_ROOT, at('/d/e'), { overwrite: true }));
    expect(await textOf(driver, '/d/file')).toBe('x');
  });
  rule('a rename onto itself changes nothing', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    expect(await driver.rename(at('/a'), at('/a'), { overwrite: false })).toMatchObject({ name: 'a' });
    expect(await driver.rename(at('/a'), at('/a'), { overwrite: true })).toMatchObject({ name: 'a' });
    expect(await textOf(driver, '/a')).toBe('a');
  });
  rule('a rename needs its source and the folder of its target', ['write', 'rename'], async (driver) => {
    await put(driver, '/a', 'a');
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/none'), at('/b'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/none'), at('/none'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.rename(at('/a'), at('/none/b'), { overwrite: true }));
    await put(driver, '/file', 'x');
    await refuses('NOT_A_DIRECTORY', driver.rename(at('/a'), at('/file/b'), { overwrite: true }));
    expect(await textOf(driver, '/a')).toBe('a');
  });
}

function copyRules(rule: Rule): void {
  rule('a copied file is another file with the same content and date', ['write', 'copy'], async (driver) => {
    const content = pattern(2_100_000);
    const before = await put(driver, '/a', content);
    const copied = await driver.copy(at('/a'), at('/b'), { overwrite: false });
    expect(copied).toMatchObject({ name: 'b', sizeBytes: 2_100_000 });
    if (driver.traits.modTimeStepMs !== undefined) expect(copied.modifiedAt).toEqual(before.modifiedAt);
    await put(driver, '/a', 'changed');
    expect(digest(await collect(await driver.read(at('/b'))))).toBe(digest(content));
  });
  rule('a folder is copied with all it holds', ['write', 'makeDirectory', 'copy'], async (driver) => {
    await put(driver, '/d/e/file', 'x');
    await put(driver, '/d/top', 'y');
    await driver.makeDirectory(at('/d/empty'));
    expect(await driver.copy(at('/d'), at('/f'), { overwrite: false })).toMatchObject({ name: 'f', isDirectory: true });
    expect(await textOf(driver, '/f/e/file')).toBe('x');
    const expected = driver.traits.keepsEmptyDirectories ? ['e', 'empty', 'top'] : ['e', 'top'];
    expect((await namesIn(driver, '/f')).sort()).toEqual(expected);
    expect((await namesIn(driver, '/')).sort()).toEqual(['d', 'f']);
  });
  rule('a copy refuses an existing name unless asked', ['write', 'makeDirectory', 'copy'], async (driver) => {
    await put(driver, '/a', 'a');
    await put(driver, '/b', 'b');
    await driver.makeDirectory(at('/d'));
    await refuses('ENTRY_EXISTS', driver.copy(at('/a'), at('/b'), { overwrite: false }));
    await refuses('ENTRY_EXISTS', driver.copy(at('/d'), at('/b'), { overwrite: true }));
    await refuses('IS_A_DIRECTORY', driver.copy(at('/a'), at('/d'), { overwrite: true }));
    expect(await textOf(driver, '/b')).toBe('b');
    await driver.copy(at('/a'), at('/b'), { overwrite: true });
    expect(await textOf(driver, '/b')).toBe('a');
  });
  rule('a copy onto or into itself is refused', ['write', 'copy'], async (driver) => {
    await put(driver, '/d/file', 'x');
    await refuses('ENTRY_EXISTS', driver.copy(at('/d/file'), at('/d/file'), { overwrite: true }));
    await refuses('ENTRY_EXISTS', driver.copy(at('/d'), at('/d'), { overwrite: true }));
    await refuses('INVALID_ARGUMENT', driver.copy(at('/d'), at('/d/e'), { overwrite: false }));
    await refuses('INVALID_ARGUMENT', driver.copy(MOUNT_ROOT, at('/e'), { overwrite: false }));
    expect(await namesIn(driver, '/d')).toEqual(['file']);
  });
  rule('a copy needs its source and the folder of its target', ['write', 'copy'], async (driver) => {
    await put(driver, '/a', 'a');
    await refuses('ENTRY_NOT_FOUND', driver.copy(at('/none'), at('/b'), { overwrite: true }));
    await refuses('ENTRY_NOT_FOUND', driver.copy(at('/a'), at('/none/b'), { overwrite: true }));
    expect(await namesIn(driver, '/')).toEqual(['a']);
  });
}

function failureRules(rule: Rule): void {
  rule('a write that is aborted midway leaves the old file and nothing else', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    for (const path of ['/old', '/new']) {
      const abort = new AbortController();
      const content = (async function* () {
        for (let index = 0; index < 100; index++) {
          if (index === 40) abort.abort();
          yield pattern(100_000);
        }
      })();
      await refuses('CANCELLED', driver.write(at(path), content, { overwrite: true, signal: abort.signal }));
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('a write whose source has stalled ends when it is aborted', ['write'], async (driver) => {
    const abort = new AbortController();
    const stalled = (async function* () {
      yield pattern(100_000);
      setImmediate(() => abort.abort());
      await new Promise(() => undefined);
    })();
    await refuses('CANCELLED', driver.write(at('/new'), stalled, { overwrite: true, signal: abort.signal }));
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('a write whose source fails passes the error on, and leaves the old file and nothing else', ['write'], async (driver) => {
    await put(driver, '/old', 'old');
    const broken = new AppError('STORAGE_UNAVAILABLE', 'the source broke');
    for (const path of ['/old', '/new']) {
      const content = (async function* () {
        yield pattern(2_000_000);
        throw broken;
      })();
      await expect(driver.write(at(path), content, { overwrite: true })).rejects.toBe(broken);
    }
    expect(await namesIn(driver, '/')).toEqual(['old']);
    expect(await textOf(driver, '/old')).toBe('old');
  });
  rule('a write that fails ends its source', ['write'], async (driver) => {
    let isEnded = false;
    const endless = (async function* () {
      try {
        for (;;) yield pattern(10_000);
      } finally {
        isEnded = true;
      }
    })();
    await refuses('INVALID_ARGUMENT', driver.write(at('/file'), endless, { overwrite: true, sizeBytes: 50_000 }));
    expect(isEnded).toBe(true);
  });
  rule('reading ends when it is aborted', ['write'], async (driver) => {
    await put(driver, '/file', pattern(8_000_000));
    const abort = new AbortController();
    const content = await driver.read(at('/file'), undefined, { signal: abort.signal });
    const reading = (async () => {
      for await (const _chunk of content) abort.abort();
    })();
    await refuses('CANCELLED', reading);
  });
  rule(
    'an aborted signal stops every call before it changes anything',
    ['write', 'makeDirectory', 'remove', 'rename', 'copy'],
    async (driver) => {
      await put(driver, '/a', 'a');
      const options: CallOptions = { signal: AbortSignal.abort() };
      await refuses('CANCELLED', driver.stat(at('/a'), options));
      await refuses('CANCELLED', entriesIn(driver, '/', options));
      await refuses('CANCELLED', driver.read(at('/a'), undefined, options));
      await refuses('CANCELLED', put(driver, '/b', 'b', options));
      await refuses('CANCELLED', driver.makeDirectory(at('/d'), options));
      await refuses('CANCELLED', driver.remove(at('/a'), { ...options, recursive: true }));
      await refuses('CANCELLED', driver.rename(at('/a'), at('/c'), { ...options, overwrite: true }));
      await refuses('CANCELLED', driver.copy(at('/a'), at('/c'), { ...options, overwrite: true }));
      expect(await namesIn(driver, '/')).toEqual(['a']);
    },
  );
  rule('the AppError that is the reason of an abort is what the call ends with', [], async (driver) => {
    const signal = AbortSignal.abort(new AppError('DEADLINE_EXCEEDED', 'too slow'));
    await refuses('DEADLINE_EXCEEDED', driver.stat(MOUNT_ROOT, { signal }));
  });
}

function raceRules(rule: Rule): void {
  rule('of two writers of one path one wins whole', ['write'], async (driver) => {
    const contents = [1, 2, 3, 4].map((fill) => Buffer.alloc(1_500_000, fill));
    await Promise.all(contents.map((content) => put(driver, '/file', content)));
    const stored = await collect(await driver.read(at('/file')));
    expect(contents.map(digest)).toContain(digest(stored));
    expect(await namesIn(driver, '/')).toEqual(['file']);
  });
  rule('of many writers of a new file exactly one wins', ['write'], async (driver) => {
    for (let round = 0; round < 5; round++) {
      const path = `/file-${round}`;
      const outcomes = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((fill) => codeOf(put(driver, path, pattern(50_000, fill), { overwrite: false }))),
      );
      expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'ENTRY_EXISTS')).toHaveLength(5);
      const winner = pattern(50_000, outcomes.indexOf('done'));
      expect(digest(await collect(await driver.read(at(path))))).toBe(digest(winner));
    }
  });
  rule('of many renames to one new name exactly one wins', ['write', 'makeDirectory', 'rename'], async (driver) => {
    for (const kind of ['file', 'folder']) {
      const sources = [0, 1, 2, 3].map((index) => `/${kind}-${index}`);
      for (const path of sources) await (kind === 'file' ? put(driver, path, path) : driver.makeDirectory(at(path)));
      const outcomes = await Promise.all(sources.map((path) => codeOf(driver.rename(at(path), at(`/to-${kind}`), { overwrite: false }))));
      expect(outcomes.sort()).toEqual(['ENTRY_EXISTS', 'ENTRY_EXISTS', 'ENTRY_EXISTS', 'done']);
      expect((await namesIn(driver, '/')).filter((name) => name.startsWith(`${kind}-`))).toHaveLength(3);
    }
  });
  rule('many that make one folder all succeed', ['makeDirectory'], async (driver) => {
    await Promise.all(Array.from({ length: 10 }, () => driver.makeDirectory(at('/a/b/c'))));
    expect(await driver.stat(at('/a/b/c'))).toMatchObject({ isDirectory: true });
  });
  rule('entries that come and go do not break a listing', ['write', 'remove'], async (driver) => {
    for (let index = 0; index < 50; index++) await put(driver, `/d/stays-${index}`, 'x');
    let isChanging = true;
    const changing = (async () => {
      for (let index = 0; isChanging; index++) {
        await put(driver, `/d/passing-${index}`, 'x');
        await driver.remove(at(`/d/passing-${index}`), { recursive: false });
      }
    })();
    for (let round = 0; round < 30; round++) {
      const names = await namesIn(driver, '/d');
      expect(names.filter((name) => name.startsWith('stays-'))).toHaveLength(50);
      expect(new Set(names).size).toBe(names.length);
    }
    isChanging = false;
    await changing;
  });
}

function lifeRules(rule: Rule): void {
  rule('the trait caseSensitive is true to the facts', ['write'], async (driver) => {
    await put(driver, '/name', 'lower');
    await put(driver, '/NAME', 'upper');
    expect(await namesIn(driver, '/')).toHaveLength(driver.traits.caseSensitive ? 2 : 1);
  });
  rule('the trait keepsEmptyDirectories is true to the facts', ['makeDirectory'], async (driver) => {
    await driver.makeDirectory(at('/empty'));
    expect(await codeOf(driver.stat(at('/empty')))).toBe(driver.traits.keepsEmptyDirectories ? 'done' : 'ENTRY_NOT_FOUND');
  });
  rule('the trait modTimeStepMs is true to the facts', ['write'], async (driver) => {
    const modifiedAt = new Date('2021-03-04T05:06:07.891Z');
    const { modifiedAt: kept } = await put(driver, '/file', 'x', { modifiedAt });
    const stepMs = driver.traits.modTimeStepMs;
    if (stepMs === undefined) expect(Math.abs(kept.getTime() - Date.now())).toBeLessThan(60_000);
    else expect(Math.abs(kept.getTime() - modifiedAt.getTime())).toBeLessThan(stepMs);
    expect((await driver.stat(at('/file'))).modifiedAt).toEqual(kept);
  });
  rule('the trait hashes is true to the facts', ['write'], async (driver) => {
    const content = pattern(10_000);
    const entry = await put(driver, '/file', content);
    for (const name of driver.traits.hashes) expect(entry.hashes?.[name]).toBe(createHash(name).update(content).digest('hex'));
  });
  rule('the space that is free is part of the whole', ['space'], async (driver) => {
    const { totalBytes, freeBytes } = await driver.space();
    expect(freeBytes).toBeGreaterThanOrEqual(0);
    expect(totalBytes).toBeGreaterThanOrEqual(freeBytes);
  });
  rule('closing twice is fine, and afterwards every call fails', [], async (driver) => {
    await driver.close();
    await driver.close();
    await refuses('STORAGE_UNAVAILABLE', driver.stat(MOUNT_ROOT));
    await refuses('STORAGE_UNAVAILABLE', entriesIn(driver, '/'));
  });
}

function at(path: string): MountPath {
  return relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
}

/** Bytes that differ at every chunk border, so that a shifted or repeated chunk shows. */
function pattern(sizeBytes: number, seed = 0): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  for (let index = 0; index < sizeBytes; index++) bytes[index] = (index * 31 + (index >> 8) * 17 + (index >> 16) * 7 + seed) & 0xff;
  return bytes;
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

async function put(driver: Able<'write'>, path: string, content: string | Uint8Array, options: Partial<WriteOptions> = {}): Promise<Entry> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const chunks = (async function* () {
    for (let from = 0; from < bytes.byteLength; from += 70_000) yield bytes.subarray(from, from + 70_000);
  })();
  return driver.write(at(path), chunks, { overwrite: true, ...options });
}

async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) {
    expect(chunk.byteLength).toBeGreaterThan(0);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function textOf(driver: StorageDriver, path: string): Promise<string> {
  return text(await collect(await driver.read(at(path))));
}

async function entriesIn(driver: StorageDriver, path: string, options?: CallOptions): Promise<Entry[]> {
  return Array.fromAsync(driver.list(at(path), options));
}

async function namesIn(driver: StorageDriver, path: string): Promise<string[]> {
  return (await entriesIn(driver, path)).map((entry) => entry.name);
}

async function codeOf(call: Promise<unknown>): Promise<ErrorCode | 'done'> {
  try {
    await call;
    return 'done';
  } catch (error) {
    return AppError.from(error).code;
  }
}

async function refuses(code: ErrorCode, call: Promise<unknown>): Promise<void> {
  expect(await codeOf(call)).toBe(code);
}
