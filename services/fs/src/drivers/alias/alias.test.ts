import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { type EntryName, MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { at, entriesIn, namesIn, put, refuses, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import type { InnerMountOptions } from '../../driver-contract/open-context.ts';
import { type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { NoStorage, saidOfPart, storageError } from '../../driver-contract/storage-error.ts';
import { withLimits } from '../../driver-contract/with-limits.ts';
import { MemoryDriver } from '../memory/driver.ts';
import { aliasDriver } from './index.ts';

/** Folders of a tree in memory by their paths, and what stands on them. */
function createFolders() {
  const folders = new Map<string, MemoryDriver>();
  const asked: { path: string; options: InnerMountOptions }[] = [];
  const away = new Map<string, AppError>();
  const folder = (path: string) => {
    const known = folders.get(path) ?? new MemoryDriver({ tellsHashes: true });
    folders.set(path, known);
    return known;
  };
  const openMount = async (path: string, options: InnerMountOptions): Promise<StorageDriver> => {
    asked.push({ path, options });
    const error = away.get(path);
    if (error) throw error;
    const driver = folder(path);
    const begin = () => {
      const failure = away.get(path);
      if (failure) throw failure;
    };
    return decorated({
      ...operationsOf(driver),
      async stat(file, options) {
        begin();
        return driver.stat(file, options);
      },
      async *list(directory, options) {
        begin();
        yield* driver.list(directory, options);
      },
      async read(file, range, options) {
        begin();
        return driver.read(file, range, options);
      },
      space: Reflect.get(driver, 'space'),
    });
  };
  const open = (paths: string, rest: object = {}) => aliasDriver.open(JSON.stringify({ paths, ...rest }), { openMount });
  return { folder, asked, away, open };
}

const all = (driver: StorageDriver) => driver as Required<StorageDriver>;
const write = (policy: string) => ({ write_conflict_policy: policy, put_conflict_policy: policy });

describe('alias: what is shown', () => {
  it('a long folder behind others is told of before the first entry: who ends the listing then, and lists anew, has no entry twice', async () => {
    const { folder, open } = createFolders();
    for (const path of ['/a', '/b', '/c']) await put(folder(path), `/of ${path.slice(1)}`, path);
    for (const path of ['/b', '/c']) {
      const store = folder(path);
      const list = store.list.bind(store);
      store.list = async function* (directory, options) {
        options?.beforeNames?.(1_000);
        yield* list(directory, options);
      };
    }
    const driver = await open('x:/a\nx:/b\nx:/c');
    const seen: string[] = [];
    const told: number[] = [];
    const beforeNames = (bytes: number) => {
      told.push(bytes);
      throw storageError('CANCELLED');
    };
    const listing = async (options: object) => {
      for await (const { name } of driver.list(at('/'), options)) seen.push(name);
    };
    await expect(listing({ beforeNames })).rejects.toMatchObject({ code: 'CANCELLED' });
    await listing({});
    expect([seen, told]).toEqual([['of a', 'of b', 'of c'], [2_000]]);
  });

  it('several names are folders of the root; one name is the root itself', async () => {
    const { folder, open, asked } = createFolders();
    await put(folder('/a'), '/in a', '1');
    await put(folder('/deep/b'), '/in b', '2');
    const several = await open('first:/a\n/deep/b\n');
    expect(await namesIn(several, '/')).toEqual(['first', 'b']);
    expect(await several.stat(at('/first'))).toMatchObject({ name: 'first', isDirectory: true });
    expect(await textOf(several, '/b/in b')).toBe('2');
    await refuses('ENTRY_NOT_FOUND', several.stat(at('/none/x')));
    await refuses('IS_A_DIRECTORY', several.read(at('/')));
    expect(asked.map(({ options }) => options.shownAt)).toEqual(['/first', '/b']);
    const one = await open('x:/a\nx:/deep/b');
    expect(await namesIn(one, '/')).toEqual(['in a', 'in b']);
    expect(asked.slice(2).map(({ options }) => options.shownAt)).toEqual(['/', '/']);
  });

  it('folders of one name are merged, and the first that has a name shows it', async () => {
    const { folder, open } = createFolders();
    await put(folder('/a'), '/d/both', 'of a');
    await put(folder('/b'), '/d/both', 'of b');
    await put(folder('/b'), '/d/only b', 'b');
    await put(folder('/b'), '/kind/inner', 'x');
    await put(folder('/a'), '/kind', 'a file');
    const driver = await open('x:/a\nx:/b');
    expect(await namesIn(driver, '/d')).toEqual(['both', 'only b']);
    expect(await textOf(driver, '/d/both')).toBe('of a');
    expect(await driver.stat(at('/kind'))).toMatchObject({ isDirectory: false });
    expect((await entriesIn(driver, '/')).map(({ name }) => name).sort()).toEqual(['d', 'kind']);
    await refuses('NOT_A_DIRECTORY', entriesIn(driver, '/kind'));
    await refuses('ENTRY_NOT_FOUND', entriesIn(driver, '/none'));
  });

  it('names that several folders have give way to others while they are passed over, and end with their caller', async () => {
    let delivered = 0;
    const entry = { name: 'one' as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
    const folder = decorated({
      ...operationsOf(new MemoryDriver()),
      async *list() {
        for (; delivered < 200_000; delivered += 1) yield entry;
      },
    });
    const driver = await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b' }), { openMount: async () => folder });
    const gone = new AbortController();
    setImmediate(() => gone.abort());
    await refuses('CANCELLED', entriesIn(driver, '/', { signal: gone.signal }));
    expect(delivered).toBeLessThan(200_000);
  });

  it('a folder that is away is passed over in reading, and makes a listing fail instead of shortening it', async () => {
    const { folder, open, away } = createFolders();
    for (const path of ['/a', '/b']) await put(folder(path), '/file', path);
    const driver = await open('x:/a\nx:/b');
    away.set('/a', storageError('STORAGE_UNAVAILABLE'));
    expect(await textOf(driver, '/file')).toBe('/b');
    await refuses('STORAGE_UNAVAILABLE', driver.stat(at('/none')));
    await refuses('STORAGE_UNAVAILABLE', entriesIn(driver, '/'));
    const later = await open('x:/a\nx:/b');
    expect(await textOf(later, '/file')).toBe('/b');
    away.delete('/a');
    expect(await textOf(later, '/file')).toBe('/a');
    away.set('/a', storageError('STORAGE_UNAVAILABLE'));
    away.set('/b', storageError('STORAGE_UNAVAILABLE'));
    await refuses('STORAGE_UNAVAILABLE', open('x:/a\nx:/b'));
    away.set('/b', new AppError('FAILED_PRECONDITION', 'the storage stands on itself: /x -> /x'));
    away.delete('/a');
    await expect(open('x:/a\nx:/b')).rejects.toThrow('stands on itself');
  });

  it.each(['random', 'all'])('%s reads only what is the same as what is shown', async (policy) => {
    const { folder, open, away } = createFolders();
    await put(folder('/a'), '/file', 'same');
    await put(folder('/b'), '/file', 'samE');
    await put(folder('/c'), '/file', 'another size');
    const loose = await open('x:/a\nx:/b\nx:/c', { read_conflict_policy: policy });
    const strict = await open('x:/a\nx:/b\nx:/c', { read_conflict_policy: policy, file_consistency_check: true });
    const texts = new Set<string>();
    for (let round = 0; round < 60; round++) {
      texts.add(await textOf(loose, '/file'));
      expect(await textOf(strict, '/file')).toBe('same');
    }
    expect([...texts].every((text) => text === 'same')).toBe(true);
    for (const path of ['/a', '/b']) await put(folder(path), '/plain', path);
    await put(folder('/c'), '/plain', '/a');
    expect((await (await open('x:/a\nx:/c', { read_conflict_policy: policy })).read(at('/plain'))).entry.sizeBytes).toBe(2);
    away.set('/a', storageError('STORAGE_UNAVAILABLE'));
    expect(await textOf(await open('x:/a\nx:/c', { read_conflict_policy: policy }), '/plain')).toBe('/a');
  });
});

describe('alias: who takes a change', () => {
  it('nobody, until a policy says so', async () => {
    const { open } = createFolders();
    const offered = async (rest: object) => {
      const driver = await open('x:/a\nx:/b', rest);
      return (['copy', 'makeDirectory', 'remove', 'rename', 'write'] as const).filter((operation) => supports(driver, operation));
    };
    expect(await offered({})).toEqual([]);
    expect(await offered({ write_conflict_policy: 'first' })).toEqual(['makeDirectory', 'remove', 'rename']);
    expect(await offered({ put_conflict_policy: 'first' })).toEqual(['copy', 'write']);
  });

  it.each([
    // policy, where both have the folder, where one has it
    ['first', ['/a'], ['/b']],
    ['deterministic', 'FAILED_PRECONDITION', ['/b']],
    ['deterministic_or_all', ['/a', '/b'], ['/b']],
    ['all', ['/a', '/b'], ['/b']],
    ['all_strict', ['/a', '/b'], 'FAILED_PRECONDITION'],
  ] as const)('%s', async (policy, ofBoth, ofOne) => {
    for (const [folderPath, expected] of [
      ['/both', ofBoth],
      ['/one', ofOne],
    ] as const) {
      const { folder, open } = createFolders();
      await folder('/a').makeDirectory(at('/both'));
      await folder('/b').makeDirectory(at('/both'));
      await folder('/b').makeDirectory(at('/one'));
      const driver = all(await open('x:/a\nx:/b', write(policy)));
      const have = async (path: string) => {
        const found = await Promise.all(
          ['/a', '/b'].map((each) =>
            folder(each)
              .stat(at(path))
              .catch(() => undefined),
          ),
        );
        return ['/a', '/b'].filter((_, index) => found[index]);
      };
      if (typeof expected === 'string') {
        await refuses(expected, put(driver, `${folderPath}/file`, 'text'));
        await refuses(expected, driver.makeDirectory(at(`${folderPath}/made`)));
        await refuses(expected, driver.remove(at(folderPath), { recursive: true }));
        continue;
      }
      await put(driver, `${folderPath}/file`, 'text');
      await driver.makeDirectory(at(`${folderPath}/made`));
      expect([await have(`${folderPath}/file`), await have(`${folderPath}/made`)]).toEqual([expected, expected]);
      await driver.rename(at(`${folderPath}/file`), at(`${folderPath}/renamed`), { overwrite: false });
      await driver.copy(at(`${folderPath}/renamed`), at(`${folderPath}/copied`), { overwrite: false });
      expect([await have(`${folderPath}/renamed`), await have(`${folderPath}/copied`)]).toEqual([expected, expected]);
      for (const each of expected) expect(await textOf(folder(each), `${folderPath}/copied`)).toBe('text');
      await driver.remove(at(`${folderPath}/renamed`), { recursive: false });
      expect(await have(`${folderPath}/renamed`)).toEqual([]);
    }
  });

  it('a folder that is busy once another one has taken a file does not say that nothing was begun', async () => {
    const { folder, open, away } = createFolders();
    const driver = all(await open('x:/a\nx:/b', write('all')));
    const content = async function* () {
      yield Buffer.from('text');
      away.set('/a', new AppError('OVERLOADED', 'busy'));
    };
    await refuses('STORAGE_UNAVAILABLE', driver.write(at('/file'), content(), { overwrite: true }));
    expect(await textOf(folder('/a'), '/file')).toBe('text');
  });

  it('a name that another folder shows is not buried, nor a new one made beside the names', async () => {
    const { folder, open } = createFolders();
    await put(folder('/a'), '/shown', 'a');
    await put(folder('/b'), '/mine', 'b');
    const driver = all(await open('x:/a\nx:/b', write('first')));
    await refuses('ENTRY_EXISTS', driver.rename(at('/mine'), at('/shown'), { overwrite: false }));
    await refuses('UNSUPPORTED_OPERATION', driver.rename(at('/mine'), at('/shown'), { overwrite: true }));
    await put(driver, '/mine', 'replaced');
    expect(await textOf(folder('/b'), '/mine')).toBe('replaced');
    const several = all(await open('x:/a\ny:/b', write('first')));
    await refuses('STORAGE_READ_ONLY', put(several, '/file', 'x'));
    await refuses('STORAGE_READ_ONLY', several.makeDirectory(at('/z')));
    await refuses('INVALID_ARGUMENT', several.remove(at('/x'), { recursive: true }));
    await refuses('UNSUPPORTED_OPERATION', several.rename(at('/x/shown'), at('/y/shown'), { overwrite: false }));
  });

  it('what is of another kind than what is shown is neither removed nor renamed', async () => {
    const { folder, open } = createFolders();
    await put(folder('/a'), '/file', 'shown');
    await put(folder('/b'), '/file/inner', 'kept');
    await folder('/a').makeDirectory(at('/folder'));
    await put(folder('/b'), '/folder', 'kept');
    await put(folder('/a'), '/named', 'shown');
    await put(folder('/b'), '/named/inner', 'kept');
    const driver = all(await open('x:/a\nx:/b', write('all')));
    await driver.remove(at('/file'), { recursive: true });
    await driver.remove(at('/folder'), { recursive: false, onlyIf: await driver.stat(at('/folder')) });
    await driver.rename(at('/named'), at('/new'), { overwrite: false });
    expect(await textOf(driver, '/file/inner')).toBe('kept');
    expect(await textOf(driver, '/folder')).toBe('kept');
    expect([await textOf(driver, '/new'), await textOf(driver, '/named/inner')]).toEqual(['shown', 'kept']);
  });

  it.each(['all', 'deterministic'])(
    'what is of another kind than what is shown is not written to, and keeps no part of a change: %s',
    async (policy) => {
      const { folder, open } = createFolders();
      await put(folder('/a'), '/file', 'shown');
      await put(folder('/b'), '/file/inner', 'kept');
      for (const path of ['/a', '/b']) await put(folder(path), '/other', 'text');
      const driver = all(await open('x:/a\nx:/b', { ...write('all'), put_conflict_policy: policy }));
      // Read and written instead.
      for (const operation of ['copy', 'rename'] as const)
        await refuses('UNSUPPORTED_OPERATION', driver[operation](at('/other'), at('/file'), { overwrite: true }));
      expect([await textOf(driver, '/file'), await textOf(folder('/b'), '/other')]).toEqual(['shown', 'text']);
      await put(driver, '/file', 'replaced');
      expect([await textOf(driver, '/file'), await textOf(folder('/b'), '/file/inner')]).toEqual(['replaced', 'kept']);
    },
  );

  it.each([
    ['the same', 'one', undefined],
    ['another', 'another one', 'STALE_VERSION'],
  ] as const)('a file that goes as it was goes from all folders, where they have %s content', async (_what, other, refusal) => {
    const { folder, open } = createFolders();
    await put(folder('/a'), '/file', 'one');
    await put(folder('/b'), '/file', other);
    const driver = all(await open('x:/a\nx:/b', write('all')));
    const removal = driver.remove(at('/file'), { recursive: false, onlyIf: await driver.stat(at('/file')) });
    await (refusal ? refuses(refusal, removal) : removal);
    for (const path of ['/a', '/b']) expect(await namesIn(folder(path), '/')).toEqual(refusal ? ['file'] : []);
  });

  it('a removal goes on in the folder in which it has begun, whatever the order of the folders is by then', async () => {
    const gone: string[] = [];
    const openMount = async (path: string): Promise<StorageDriver> => {
      const inner = new MemoryDriver();
      if (path === '/a') await put(inner, '/doomed', 'x');
      const remove: StorageDriver['remove'] = async (_, { begun }) => void gone.push(`${path} ${begun}`);
      return decorated({ ...operationsOf(inner), beginRemoval: async () => ['begun'], remove });
    };
    const open = async (paths: string) => all(await aliasDriver.open(JSON.stringify({ paths, ...write('first') }), { openMount }));
    const [begun] = await (await open('x:/a\nx:/b')).beginRemoval([at('/doomed')]);
    if (typeof begun !== 'string') throw new Error('it has not begun');
    for (const paths of ['x:/b\nx:/a', 'x:/new\nx:/b\nx:/a', 'x:/b\nx:/c'])
      await (await open(paths)).remove(at('/doomed'), { recursive: true, begun });
    expect(gone).toEqual(['/a begun', '/a begun']);
  });

  it('a removal goes on in all folders that are there, where one is away by now', async () => {
    const stores = { '/a': new MemoryDriver({ hasObjects: true }), '/b': new MemoryDriver({ hasObjects: true }) };
    for (const driver of Object.values(stores)) await put(driver, '/doomed/file', 'x');
    let isAway = false;
    const openMount = async (path: string) => {
      if (isAway && path === '/a') throw storageError('STORAGE_UNAVAILABLE');
      return stores[path as '/a' | '/b'];
    };
    const open = async () => all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    const [begun] = await (await open()).beginRemoval([at('/doomed')]);
    if (typeof begun !== 'string') throw new Error('it has not begun');
    isAway = true;
    const driver = await open();
    await refuses('STORAGE_UNAVAILABLE', driver.remove(at('/doomed'), { recursive: true, begun }));
    expect(await namesIn(stores['/b'], '/')).toEqual([]);
    isAway = false;
    await driver.remove(at('/doomed'), { recursive: true, begun });
    expect(await namesIn(stores['/a'], '/')).toEqual([]);
  });

  it.each([
    ['says of it that it cannot', async () => [storageError('UNSUPPORTED_OPERATION')]],
    ['says that it cannot at all', () => Promise.reject(storageError('UNSUPPORTED_OPERATION'))],
  ] satisfies [string, StorageDriver['beginRemoval']][])(
    'a removal that one folder begins is made at once in one that %s',
    async (_what, beginRemoval) => {
      const folders = new Map<string, StorageDriver>();
      for (const path of ['/a', '/b']) {
        const inner = new MemoryDriver({ hasObjects: true });
        await put(inner, '/doomed/file', path);
        folders.set(path, path === '/a' ? inner : decorated({ ...operationsOf(inner), beginRemoval }));
      }
      const openMount = async (path: string) => folders.get(path) ?? new MemoryDriver();
      const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
      const [begun] = await driver.beginRemoval([at('/doomed')]);
      await driver.remove(at('/doomed'), { recursive: true, begun: String(begun) });
      expect(await namesIn(driver, '/')).toEqual([]);
    },
  );

  it('a removal that has begun in one folder is told, also where another one fails as it is to begin there', async () => {
    const folders = new Map<string, StorageDriver>();
    for (const path of ['/a', '/b']) {
      const inner = new MemoryDriver({ hasObjects: true });
      await put(inner, '/doomed/file', path);
      const beginRemoval = () => Promise.reject(storageError('STORAGE_UNAVAILABLE'));
      folders.set(path, path === '/a' ? inner : decorated({ ...operationsOf(inner), beginRemoval }));
    }
    const openMount = async (path: string) => folders.get(path) ?? new MemoryDriver();
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    expect(await driver.beginRemoval([at('/doomed')])).toEqual([expect.any(String)]);
  });

  it('a removal takes nothing of a storage that came in the place of the one in which it began', async () => {
    const folders = new Map<string, StorageDriver>([['/b', new MemoryDriver()]]);
    const open = async (hasObjects: boolean) => {
      const inner = new MemoryDriver({ hasObjects });
      await put(inner, '/doomed/file', 'x');
      folders.set('/a', inner);
      const openMount = async (path: string) => folders.get(path) ?? new MemoryDriver();
      return all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('first') }), { openMount }));
    };
    const [begun] = await (await open(true)).beginRemoval([at('/doomed')]);
    if (typeof begun !== 'string') throw new Error('it has not begun');
    for (const hasObjects of [true, false]) {
      const driver = await open(hasObjects);
      await refuses('FAILED_PRECONDITION', driver.remove(at('/doomed'), { recursive: true, begun }));
      expect(await textOf(driver, '/doomed/file')).toBe('x');
    }
  });

  it('the folder that takes them, also where it was away when the storage was opened, and the others take none', async () => {
    const { folder, away, open } = createFolders();
    for (const operation of ['write', 'makeDirectory', 'remove', 'beginRemoval'])
      Object.assign(folder('/fixed'), { [operation]: undefined });
    away.set('/a', new AppError('STORAGE_UNAVAILABLE', 'away'));
    const driver = all(await open('x:/a\nx:/fixed', write('first')));
    await refuses('STORAGE_UNAVAILABLE', put(driver, '/file', 'x'));
    await refuses('STORAGE_UNAVAILABLE', driver.makeDirectory(at('/made')));
    away.clear();
    await put(driver, '/file', 'x');
    await driver.makeDirectory(at('/made'));
    expect(await textOf(folder('/a'), '/file')).toBe('x');
    await driver.remove(at('/file'), { recursive: false });
    expect((await Array.fromAsync(folder('/a').list(MOUNT_ROOT))).map(({ name }) => name)).toEqual(['made']);
  });

  it.each([true, false])('a removal goes on in all other folders where another storage came in the place of one', async (hasObjects) => {
    const folders = new Map([
      ['/a', new MemoryDriver({ hasObjects: true })],
      ['/b', new MemoryDriver({ hasObjects: true })],
    ]);
    for (const driver of folders.values()) await put(driver, '/doomed/file', 'x');
    const openMount = async (path: string) => folders.get(path) ?? new MemoryDriver();
    const open = async () => all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    const [begun] = await (await open()).beginRemoval([at('/doomed')]);
    if (typeof begun !== 'string') throw new Error('it has not begun');
    const other = new MemoryDriver({ hasObjects });
    await put(other, '/doomed/file', 'other');
    folders.set('/a', other);
    await refuses('FAILED_PRECONDITION', (await open()).remove(at('/doomed'), { recursive: true, begun }));
    expect(await textOf(other, '/doomed/file')).toBe('other');
    expect((await Array.fromAsync(folders.get('/b')?.list(MOUNT_ROOT) ?? [])).length).toBe(0);
  });

  it('the folder with the most space, and none that is known to have too little', async () => {
    const { folder, open } = createFolders();
    const spaces = { '/a': 10, '/b': 1_000 };
    for (const [path, freeBytes] of Object.entries(spaces))
      Object.assign(folder(path), { space: async () => ({ totalBytes: 2_000, freeBytes }) });
    const driver = all(await open('x:/a\nx:/b', { put_conflict_policy: 'quota_strict', details_pass_through: true }));
    await put(driver, '/file', 'text', { sizeBytes: 4 });
    expect(await namesIn(folder('/b'), '/')).toEqual(['file']);
    await refuses('QUOTA_EXCEEDED', put(driver, '/big', Buffer.alloc(2_000), { sizeBytes: 2_000 }));
    expect(await driver.space()).toEqual({ totalBytes: 4_000, freeBytes: 1_010 });
  });
});

describe('alias: files that are open below', () => {
  /** Two folders of one content, the first of which has one place for readers. The second one does as the changes say. */
  async function openTwo(settings: object, changes: Partial<StorageDriver>): Promise<Required<StorageDriver>> {
    const folders = new Map<string, StorageDriver>([
      ['/a', withLimits(new MemoryDriver(), { names: 4, reads: 1, writes: 1 }, 100)],
      ['/b', new MemoryDriver()],
    ]);
    const opened = (path: string) => folders.get(path) as Required<StorageDriver>;
    for (const path of folders.keys()) await put(opened(path), '/file', 'text');
    const openMount = async (path: string) => decorated({ ...operationsOf(opened(path)), ...(path === '/b' && changes) });
    return all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...settings }), { openMount }));
  }

  it('a copy that the second folder refuses lets go of the first', async () => {
    const driver = await openTwo(write('all'), { write: () => Promise.reject(storageError('STORAGE_READ_ONLY')) });
    for (let time = 0; time < 3; time += 1) await refuses('STORAGE_READ_ONLY', put(driver, '/file', 'other'));
    expect(await textOf(driver, '/file')).toBe('other');
  });

  it('a folder that reads back other bytes of the same size gives them to none of the others', async () => {
    const liar = new MemoryDriver();
    const honest = new MemoryDriver();
    for (const folder of [liar, honest]) await put(folder, '/file', 'text');
    const folders = new Map<string, StorageDriver>([
      ['/a', decorated({ ...operationsOf(liar), read: (_, range, options) => other.read(at('/other'), range, options) })],
      ['/b', honest],
    ]);
    const other = new MemoryDriver();
    await put(other, '/other', 'evil');
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    await refuses('CONTENT_CORRUPT', put(driver, '/file', 'good'));
    expect(await textOf(honest, '/file')).toBe('text');
  });

  describe('a first folder that says once that it does not have a file', () => {
    /** Two folders of which the first, or both, have a file that the first one denies when it is asked for it at first. */
    async function openDenying(policy: string, isInBoth: boolean, rest: { readonly write?: undefined } = {}) {
      const [first, second] = [new MemoryDriver(), new MemoryDriver()];
      await put(first, '/file', 'text');
      if (isInBoth) await put(second, '/file', 'text');
      let asked = 0;
      const stat: typeof first.stat = async (path, options) => {
        if (path === at('/file') && ++asked === 1) throw storageError('ENTRY_NOT_FOUND');
        return first.stat(path, options);
      };
      const folders = new Map<string, StorageDriver>([
        ['/a', decorated({ ...operationsOf(first), stat, ...rest })],
        ['/b', second],
      ]);
      const openMount = async (path: string) => folders.get(path) as StorageDriver;
      const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write(policy) }), { openMount }));
      return { driver, first, second };
    }

    it.each(['all', 'first'])('gets what is written to a later one (%s)', async (policy) => {
      const { driver, first, second } = await openDenying(policy, true);
      await put(driver, '/file', 'new!!', { overwrite: true });
      expect([await textOf(driver, '/file'), await textOf(first, '/file'), await textOf(second, '/file')]).toEqual([
        'new!!',
        'new!!',
        'new!!',
      ]);
    });

    it('is believed when it shows the file later, where nothing may be replaced', async () => {
      const { driver, first, second } = await openDenying('first', false);
      Object.assign(first, { write: () => Promise.reject(storageError('ENTRY_EXISTS')) });
      await refuses('ENTRY_EXISTS', put(driver, '/file', 'new!!', { overwrite: false }));
      expect([await textOf(driver, '/file'), await namesIn(second, '/')]).toEqual(['text', []]);
    });

    it('has what was written to a later one taken away again, where nothing may be replaced', async () => {
      const { driver, second } = await openDenying('first', false, { write: undefined });
      await refuses('ENTRY_EXISTS', put(driver, '/file', 'new!!', { overwrite: false }));
      expect([await textOf(driver, '/file'), await namesIn(second, '/')]).toEqual(['text', []]);
    });
  });

  it('writers of one file at the same time are refused where the first folder shows what none of them has sent', async () => {
    const [liar, honest, other] = [new MemoryDriver(), new MemoryDriver(), new MemoryDriver()];
    for (const folder of [liar, honest]) await put(folder, '/file', 'text');
    await put(other, '/other', 'evil');
    let begun = 0;
    const areBegun = Promise.withResolvers<void>();
    const store: typeof liar.write = async (...call) => {
      begun += 1;
      if (begun === 3) areBegun.resolve();
      await areBegun.promise;
      return liar.write(...call);
    };
    const folders = new Map<string, StorageDriver>([
      ['/a', decorated({ ...operationsOf(liar), write: store, read: (_, range, options) => other.read(at('/other'), range, options) })],
      ['/b', honest],
    ]);
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    await Promise.all(['one!', 'two!', 'six!'].map((text) => refuses('CONTENT_CORRUPT', put(driver, '/file', text))));
    expect(await textOf(honest, '/file')).toBe('text');
  });

  it('a new file that is replaced while it comes into several folders is in all of them', async () => {
    const [first, second] = [new MemoryDriver(), new MemoryDriver()];
    const goesOn = Promise.withResolvers<void>();
    let reads = 0;
    const read: typeof first.read = async (...call) => {
      reads += 1;
      if (reads === 1) await goesOn.promise;
      return first.read(...call);
    };
    const folders = new Map<string, StorageDriver>([
      ['/a', decorated({ ...operationsOf(first), read })],
      ['/b', second],
    ]);
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    const one = put(driver, '/file', 'one!');
    await expect.poll(() => reads).toBe(1);
    await put(driver, '/file', 'two!');
    goesOn.resolve();
    await one;
    expect([await textOf(first, '/file'), await textOf(second, '/file')]).toEqual(['two!', 'two!']);
  });

  it('a writer whose file another one has replaced already, whose folder has not said so yet, is done', async () => {
    const policies = write('all');
    const [first, second] = [new MemoryDriver(), new MemoryDriver()];
    for (const folder of [first, second]) await put(folder, '/file', 'text');
    const [isReplaced, isRefused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let written = 0;
    const folders = new Map<string, StorageDriver>();
    const store: typeof first.write = async (...call) => {
      const entry = await first.write(...call);
      written += 1;
      const isLast = written > 1;
      if (isLast) isReplaced.resolve();
      await (isLast ? isRefused.promise.then(() => turn()) : isReplaced.promise);
      return entry;
    };
    folders.set('/a', decorated({ ...operationsOf(first), write: store }));
    const copy: typeof second.write = async (...call) => {
      try {
        return await second.write(...call);
      } catch (error) {
        isRefused.resolve();
        throw error;
      }
    };
    folders.set('/b', decorated({ ...operationsOf(second), write: copy }));
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...policies }), { openMount }));
    await Promise.all([put(driver, '/file', 'one!'), put(driver, '/file', 'two!')]);
    expect([await textOf(first, '/file'), await textOf(second, '/file')]).toEqual(['two!', 'two!']);
  });

  it.each([
    ['another one has replaced is done', 'alias', 'done'],
    ['somebody has changed below is told so when it leaves', 'below', 'CANCELLED'],
  ] as const)('while others go on sending, a writer whose file %s', async (_what, where, outcome) => {
    const first = new MemoryDriver();
    const [isChanged, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let reads = 0;
    const read: typeof first.read = async (...call) => {
      reads += 1;
      if (reads === 1) await isChanged.promise;
      return first.read(...call);
    };
    const second = new MemoryDriver();
    const isRefused = Promise.withResolvers<void>();
    const copy: typeof second.write = (...call) => second.write(...call).finally(() => isRefused.resolve());
    const folders = new Map<string, StorageDriver>([
      ['/a', decorated({ ...operationsOf(first), read })],
      ['/b', decorated({ ...operationsOf(second), write: copy })],
    ]);
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    let isSending = false;
    const slow = async function* () {
      isSending = true;
      yield Buffer.from('slow');
      await isOver.promise;
    };
    const sending = driver.write(at('/file'), slow(), { overwrite: true });
    await expect.poll(() => isSending).toBe(true);
    const gone = new AbortController();
    const writing = put(driver, '/file', 'one!', { signal: gone.signal }).then(
      () => 'done',
      (error: unknown) => AppError.from(error).code,
    );
    await expect.poll(() => reads).toBe(1);
    await put(where === 'alias' ? driver : first, '/file', 'two!', { overwrite: true });
    isChanged.resolve();
    await isRefused.promise;
    await turn();
    if (outcome === 'CANCELLED') gone.abort();
    expect(await writing).toBe(outcome);
    isOver.resolve();
    await sending;
  });

  it('a writer whose file another one has replaced is done, however long a third one takes', async () => {
    const [first, second] = [new MemoryDriver(), new MemoryDriver()];
    for (const folder of [first, second]) await put(folder, '/file', 'text');
    const [isReplaced, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    const store: typeof first.write = async (...call) => {
      begun += 1;
      const own = begun;
      if (own === 3) await goesOn.promise;
      const entry = await first.write(...call);
      if (own === 1) await isReplaced.promise;
      return entry;
    };
    const folders = new Map<string, StorageDriver>([
      ['/a', decorated({ ...operationsOf(first), write: store })],
      ['/b', decorated(operationsOf(second))],
    ]);
    const openMount = async (path: string) => folders.get(path) as StorageDriver;
    const driver = all(await aliasDriver.open(JSON.stringify({ paths: 'x:/a\nx:/b', ...write('all') }), { openMount }));
    const one = put(driver, '/file', 'one!');
    await waitFor('the first write', () => begun === 1);
    await put(driver, '/file', 'two!');
    const three = put(driver, '/file', 'three');
    await waitFor('the third write', () => begun === 3);
    isReplaced.resolve();
    await one;
    goesOn.resolve();
    await three;
    expect([await textOf(first, '/file'), await textOf(second, '/file')]).toEqual(['three', 'three']);
  });

  it('a content that is not the one that is shown is let go of', async () => {
    const other = withLimits(new MemoryDriver(), { names: 4, reads: 1, writes: 1 }, 100);
    await put(other as Required<StorageDriver>, '/file', 'longer text');
    const driver = await openTwo({ read_conflict_policy: 'all' }, { read: (file, range, options) => other.read(file, range, options) });
    for (let time = 0; time < 4; time += 1) expect(await textOf(driver, '/file')).toBe('text');
    expect(await textOf(other, '/file')).toBe('longer text');
  });
});

describe('alias: its form', () => {
  it.each([
    ['', 'paths is required'],
    ['a', 'paths: [a] is neither /path nor name:/path'],
    [':/a', 'paths: [:/a] is neither /path nor name:/path'],
    ['a/b:/c', 'paths: [a/b:/c] is neither /path nor name:/path'],
    ['/a/../b', 'paths: [/a/../b] is neither /path nor name:/path'],
    ['\n \n', 'paths is required'],
  ])('%j is refused', async (paths, message) => {
    await expect(createFolders().open(paths)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });
});

it('a folder that opens only when the alias was closed meanwhile takes no write of it any more', async () => {
  const [near, late] = [new MemoryDriver(), new MemoryDriver()];
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const openMount = async (path: string): Promise<StorageDriver> => {
    if (path === '/near') return near;
    asked += 1;
    if (asked === 1) throw storageError('STORAGE_UNAVAILABLE');
    await promise;
    return inFolder(late, MOUNT_ROOT, () => {});
  };
  const alias = await aliasDriver.open(JSON.stringify({ paths: 'a:/near\nb:/late', ...write('first') }), { openMount });
  await put(late, '/file', 'old');
  const writing = put(all(alias), '/b/file', 'new');
  await turn();
  await alias.close();
  resolve();
  await refuses('STORAGE_UNAVAILABLE', writing);
  expect(await textOf(late, '/file')).toBe('old');
});

/** An Alias over the roots of two storages with what is around them in the service. The first can be away, as one whose disk is not mounted. */
async function openOverStorages(paths: string) {
  const missing = storageError('ENTRY_NOT_FOUND');
  const first = { isAway: false };
  const stores = { '/a': new MemoryDriver(), '/b': new MemoryDriver() };
  const openMount = async (path: string) => {
    const driver = path === '/a' ? stores['/a'] : stores['/b'];
    const whileThere = async <Result>(work: () => Promise<Result>) => (first.isAway && path === '/a' ? Promise.reject(missing) : work());
    const base = decorated({
      ...operationsOf(driver),
      stat: (...given) => whileThere(() => driver.stat(...given)),
      async *list(...given) {
        yield* await whileThere(async () => driver.list(...given));
      },
      read: (...given) => whileThere(() => driver.read(...given)),
      remove: (...given) => whileThere(() => driver.remove(...given)),
      write: (...given) => whileThere(() => driver.write(...given)),
      beginRemoval: async (names) => names.map(() => missing),
    });
    return inFolder(decorate(base, undefined), MOUNT_ROOT, () => {});
  };
  const addition = JSON.stringify({ paths, ...write('all') });
  return { driver: all(decorate(await aliasDriver.open(addition, { openMount }), aliasDriver.limits)), stores, first };
}

it.each([
  ['one of several', 'a:/a\nb:/b', '/a/file'],
  ['one of those of one name', 'x:/b\nx:/a', '/file'],
])('nothing counts as removed while the storage of %s is away', async (_, paths, file) => {
  const { driver, stores, first } = await openOverStorages(paths);
  await put(stores['/a'], '/file', 'of a');
  first.isAway = true;
  await refuses('STORAGE_UNAVAILABLE', driver.remove(at(file), { recursive: true }));
  expect(await driver.beginRemoval([at(file)])).toMatchObject([{ code: 'STORAGE_UNAVAILABLE' }]);
  first.isAway = false;
  await driver.remove(at(file), { recursive: true });
  await refuses('ENTRY_NOT_FOUND', driver.remove(at(file), { recursive: true }));
  expect(await driver.beginRemoval([at(file)])).toMatchObject([{ code: 'ENTRY_NOT_FOUND' }]);
});

it('nothing counts as removed where a gateway has no storage for one of several folders', async () => {
  const b = new MemoryDriver();
  const gateway = new MemoryDriver();
  const base = decorated({
    ...operationsOf(gateway),
    stat: async (path, options) => {
      if (path === MOUNT_ROOT) return gateway.stat(path, options);
      throw storageError('ENTRY_NOT_FOUND', new NoStorage());
    },
  });
  const openMount = async (path: string) =>
    path === '/b' ? inFolder(decorate(b, undefined), MOUNT_ROOT, () => {}) : inFolder(decorate(base, undefined), at('/disk'), () => {});
  const addition = JSON.stringify({ paths: 'x:/g/disk\nx:/b', ...write('all') });
  const driver = all(decorate(await aliasDriver.open(addition, { openMount }), aliasDriver.limits));
  await refuses('STORAGE_UNAVAILABLE', driver.remove(at('/file'), { recursive: true }));
});

it.each([
  ['', '/file'],
  ['/disk', '/disk/file'],
])('nothing counts as removed where a gateway shows the place of a storage%s that is away, and cannot list it', async (place, file) => {
  const [near, gateway] = [new MemoryDriver(), new MemoryDriver()];
  await gateway.makeDirectory(at('/disk'));
  for (let count = 0; count < 20; count += 1) await put(near, `${file}${count}`, 'text');
  let [isAway, lists] = [true, 0];
  const base = decorated({
    ...operationsOf(gateway),
    beginRemoval: async (paths) => paths.map(() => undefined),
    stat: (path, options) =>
      gateway.stat(path, options).catch((error: AppError) => {
        throw saidOfPart(error);
      }),
    async *list(path, options) {
      lists += 1;
      if (isAway && path === (place || '/')) throw saidOfPart(storageError('ENTRY_NOT_FOUND'));
      yield* gateway.list(path, options);
    },
  });
  const openMount = async (path: string) => inFolder(decorate(path === '/near' ? near : base, undefined), MOUNT_ROOT, () => {});
  const addition = JSON.stringify({ paths: 'x:/near\nx:/g', ...write('all') });
  const driver = all(decorate(await aliasDriver.open(addition, { openMount }), aliasDriver.limits));
  await refuses('STORAGE_UNAVAILABLE', driver.remove(at(`${file}0`), { recursive: true }));
  expect(await driver.beginRemoval([at(`${file}0`)])).toMatchObject([{ code: 'STORAGE_UNAVAILABLE' }]);
  await refuses('STORAGE_UNAVAILABLE', driver.rename(at(`${file}0`), at(`${file}x`), { overwrite: false }));
  expect(await textOf(near, `${file}0`)).toBe('text');
  [isAway, lists] = [false, 0];
  for (let count = 0; count < 20; count += 1) await driver.remove(at(`${file}${count}`), { recursive: true });
  expect(lists).toBeGreaterThan(0);
  expect(lists).toBeLessThan(20);
});

it('what one of several storages has is neither replaced nor removed, nor all that is listed, while another is away', async () => {
  const { driver, stores, first } = await openOverStorages('x:/a\nx:/b');
  for (const store of Object.values(stores)) await put(store, '/file', 'old');
  await put(stores['/a'], '/of a', 'x');
  first.isAway = true;
  await refuses('STORAGE_UNAVAILABLE', put(driver, '/file', 'new'));
  await refuses('STORAGE_UNAVAILABLE', put(driver, '/other', 'new'));
  await refuses('STORAGE_UNAVAILABLE', driver.remove(at('/file'), { recursive: true }));
  expect(await textOf(driver, '/file')).toBe('old');
  await refuses('STORAGE_UNAVAILABLE', namesIn(driver, '/'));
  await refuses('STORAGE_UNAVAILABLE', driver.stat(at('/of a')));
  await refuses('STORAGE_UNAVAILABLE', driver.read(at('/of a')));
  first.isAway = false;
  await refuses('ENTRY_NOT_FOUND', driver.stat(at('/none')));
  await put(driver, '/file', 'new');
  expect(await Promise.all(Object.values(stores).map((store) => textOf(store, '/file')))).toEqual(['new', 'new']);
});
