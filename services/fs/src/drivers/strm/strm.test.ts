import { type EntryName, MOUNT_ROOT } from '@wharf/paths';
import { expect, it, onTestFinished, vi } from 'vitest';
import { usedBytes } from '../../domain/testing/used-bytes.ts';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { at, collect, entriesIn, namesIn, put, refuses, text, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../memory/index.ts';
import { strmDriver } from './index.ts';

const MIB = 1024 * 1024;

type Files = Readonly<Record<string, string>>;

/** A storage over folders of the tree that hold these files. */
async function opened(folders: Readonly<Record<string, Files>>, items: Record<string, unknown> = {}, listingRoom = createListingRoom()) {
  const below = new Map<string, Required<StorageDriver>>();
  for (const [path, files] of Object.entries(folders)) {
    const driver = (await memoryDriver.open('{}')) as Required<StorageDriver>;
    for (const [name, content] of Object.entries(files)) await put(driver, name, content);
    below.set(path, driver);
  }
  const openMount = async (path: string) => {
    const driver = below.get(path);
    if (!driver) throw new Error(`nothing at ${path}`);
    return inFolder(driver, MOUNT_ROOT, () => undefined);
  };
  const site = { url: 'https://own.example', signer: async () => (path: string) => `signed ${path}:0` };
  const defaults = Object.fromEntries(strmDriver.items.map((item) => [item.name, item.default]));
  const addition = JSON.stringify({ ...defaults, paths: Object.keys(folders).join('\n'), ...items });
  const driver = await strmDriver.open(addition, { openMount, site, listingRoom });
  onTestFinished(() => driver.close());
  return { driver, below };
}

it('media are shown as addresses, files that belong to them as they are, and the rest is hidden', async () => {
  const { driver } = await opened({
    '/m': { '/a film.mkv': 'film', '/a film.srt': 'subtitles', '/notes.txt': 'x', '/d/ü.MP4': 'y', '/.mkv': 'z' },
  });
  expect((await namesIn(driver, '/')).sort()).toEqual(['a film.srt', 'a film.strm', 'd']);
  expect(await textOf(driver, '/a film.strm')).toBe('https://own.example/d/m/a%20film.mkv');
  expect(await textOf(driver, '/a film.srt')).toBe('subtitles');
  expect(await textOf(driver, '/d/ü.strm')).toBe('https://own.example/d/m/d/%C3%BC.MP4');
  for (const hidden of ['/a film.mkv', '/notes.txt', '/d/ü.MP4', '/none.strm', '/none/x.strm'])
    await refuses('ENTRY_NOT_FOUND', driver.stat(at(hidden)));
  for (const entry of [...(await entriesIn(driver, '/')), ...(await entriesIn(driver, '/d'))]) {
    const path = entry.name === 'ü.strm' ? '/d/ü.strm' : `/${entry.name}`;
    expect(await driver.stat(at(path))).toEqual(entry);
    if (!entry.isDirectory) expect(Buffer.byteLength(await textOf(driver, path))).toBe(entry.sizeBytes);
  }
});

it.each([
  [{}, 'https://own.example/d/m/a%20b.mkv'],
  [{ siteUrl: 'http://player.example:81/sub/' }, 'http://player.example:81/sub/d/m/a%20b.mkv'],
  [{ PathPrefix: '' }, 'https://own.example/m/a%20b.mkv'],
  [{ PathPrefix: 'p/' }, 'https://own.example/p/m/a%20b.mkv'],
  [{ encodePath: false }, 'https://own.example/d/m/a b.mkv'],
  [{ withoutUrl: true }, '/d/m/a%20b.mkv'],
  [{ withSign: true }, 'https://own.example/d/m/a%20b.mkv?sign=signed%20%2Fm%2Fa%20b.mkv%3A0'],
])('with %j the address is %s', async (items, address) => {
  const { driver } = await opened({ '/m': { '/a b.mkv': 'x' } }, items);
  expect(await textOf(driver, '/a b.strm')).toBe(address);
});

it('two files of one name are told apart, and a file that has the name keeps it', async () => {
  const { driver } = await opened({ '/m': { '/a.mkv': '1', '/a.mp4': '2', '/b.mp3': '3', '/b.strm': 'own' } });
  expect((await namesIn(driver, '/')).sort()).toEqual(['a.mp4.strm', 'a.strm', 'b.mp3.strm', 'b.strm']);
  expect(await textOf(driver, '/a.strm')).toContain('a.mkv');
  expect(await textOf(driver, '/a.mp4.strm')).toContain('a.mp4');
  expect(await textOf(driver, '/b.strm')).toBe('own');
});

it('small files are left out', async () => {
  const { driver } = await opened({ '/m': { '/small.mkv': 'x', '/big.mkv': 'x'.repeat(1024 * 1024) } }, { minFileSize: 1 });
  expect(await namesIn(driver, '/')).toEqual(['big.strm']);
});

it('several folders have names of their own, or are shown as one', async () => {
  const { driver } = await opened(
    { '/m': { '/a.mkv': '1' }, '/n': { '/a.mkv': '2', '/c.mkv': '3' }, '/o': {} },
    { paths: 'x:/m\nx:/n\ny:/o' },
  );
  expect(await namesIn(driver, '/')).toEqual(['x', 'y']);
  expect((await namesIn(driver, '/x')).sort()).toEqual(['a.strm', 'c.strm']);
  expect(await textOf(driver, '/x/a.strm')).toContain('/m/a.mkv');
  expect(await textOf(driver, '/x/c.strm')).toContain('/n/c.mkv');
  expect(await namesIn(driver, '/y')).toEqual([]);
  await refuses('ENTRY_NOT_FOUND', driver.stat(at('/z')));
});

it('a file that comes, goes or gets another ending is seen at once', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1' } });
  const folder = below.get('/m') as Required<StorageDriver>;
  expect(await textOf(driver, '/a.strm')).toContain('a.mkv');
  await folder.rename(at('/a.mkv'), at('/a.mp4'), { overwrite: false });
  expect(await textOf(driver, '/a.strm')).toContain('a.mp4');
  await put(folder, '/b.mkv', 'x');
  expect(await textOf(driver, '/b.strm')).toContain('b.mkv');
  await folder.remove(at('/a.mp4'), { recursive: false });
  await refuses('ENTRY_NOT_FOUND', driver.read(at('/a.strm')));
});

it('a stretch of an address is read as of any file', async () => {
  const { driver } = await opened({ '/m': { '/a.mkv': 'x' } });
  expect(text(await collect(await driver.read(at('/a.strm'), { offsetBytes: 8, lengthBytes: 3 })))).toBe('own');
  await refuses('RANGE_NOT_SATISFIABLE', driver.read(at('/a.strm'), { offsetBytes: 500 }));
  await refuses('IS_A_DIRECTORY', driver.read(at('/')));
  await refuses('NOT_A_DIRECTORY', entriesIn(driver, '/a.strm'));
});

it('a listing of 10,000 addresses gives way to others', async () => {
  const files = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`/film-${index}.mkv`, '']));
  const { driver } = await opened({ '/m': files }, { withSign: true });
  let turns = 0;
  let isListing = true;
  const count = () => {
    turns += 1;
    if (isListing) setImmediate(count);
  };
  setImmediate(count);
  const names = await namesIn(driver, '/');
  isListing = false;
  expect(new Set(names).size).toBe(10_000);
  expect(turns).toBeGreaterThan(3);
});

it('a listing gives way to others while the folder below is read, and ends with its caller', async () => {
  let delivered = 0;
  const below = decorated({
    ...operationsOf(await memoryDriver.open('{}')),
    async *list() {
      for (; delivered < 200_000; delivered += 1)
        yield { name: `${delivered}.mkv` as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
    },
  });
  const addition = JSON.stringify({ paths: '/m', siteUrl: 'http://x', filterFileTypes: 'mkv' });
  const driver = await strmDriver.open(addition, { openMount: async () => below });
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  await expect(entriesIn(driver, '/', { signal: gone.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(delivered).toBeLessThan(200_000);
});

it('of looks in a large folder two of one caller list it at a time, each holds what it is for, and a small folder is remembered', async () => {
  const memory = await memoryDriver.open('{}');
  let [size, lists, under, most] = [30_000, 0, 0, 0];
  const held = vi.spyOn(Map.prototype, 'set');
  const below = decorated({
    ...operationsOf(memory),
    stat: async () => ({ name: '9.mkv' as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) }),
    async *list() {
      lists += 1;
      under += 1;
      most = Math.max(most, under);
      try {
        for (let index = 0; index < size; index += 1)
          yield { name: `${index}.mkv` as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
      } finally {
        under -= 1;
      }
    },
  });
  const addition = JSON.stringify({ paths: '/m', siteUrl: 'http://x', filterFileTypes: 'mkv' });
  const driver = await strmDriver.open(addition, { openMount: async () => below });
  const look = (name: string) =>
    driver.stat(at(name), { caller: 'user 1' }).then(
      (entry) => entry.name,
      (error) => error.code,
    );
  expect(await Promise.all(['/29999.strm', '/none.strm', '/9.strm', '/none.srt'].map(look))).toEqual([
    ...['29999.strm', 'ENTRY_NOT_FOUND', '9.strm', 'ENTRY_NOT_FOUND'],
  ]);
  expect([lists, most]).toEqual([3, 2]);
  expect(Math.max(...held.mock.contexts.map((map) => (map as Map<unknown, unknown>).size))).toBeLessThanOrEqual(2_001);
  held.mockRestore();
  size = 100;
  for (const name of ['/1.strm', '/2.strm', '/3.strm']) expect(await look(name)).toBe(name.slice(1));
  expect(lists).toBe(4);
});

it.each([
  [{ SaveStrmToLocal: true }, 'SaveStrmToLocal'],
  [{ siteUrl: 'ftp://x' }, 'siteUrl'],
  [{ siteUrl: 'no address' }, 'siteUrl'],
  [{ paths: 'nowhere' }, 'paths'],
])('%j is refused by name', async (items, name) => {
  await expect(opened({ '/m': {} }, items)).rejects.toThrow(name);
});

it('without an address of ours one has to be entered', async () => {
  await expect(strmDriver.open(JSON.stringify({ paths: '/m' }))).rejects.toThrow('siteUrl');
});

it('of a long folder a look holds no names but its own, and one looks at a time', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1', '/b.mkv': '2' } });
  const inner = below.get('/m');
  if (!inner) throw new Error('nothing is below');
  const list = inner.list.bind(inner);
  const [letters, turn] = [1e12, { running: 0, most: 0 }];
  inner.list = async function* (directory, options) {
    options?.beforeNames?.(letters);
    turn.running += 1;
    turn.most = Math.max(turn.most, turn.running);
    yield* list(directory, options);
    turn.running -= 1;
  };
  const looks = ['/a.strm', '/b.strm', '/none.strm'].map((path) =>
    driver.stat(at(path)).then(
      ({ name }) => name,
      ({ code }) => code,
    ),
  );
  expect(await Promise.all(looks)).toEqual(['a.strm', 'b.strm', 'ENTRY_NOT_FOUND']);
  expect(turn.most).toBe(1);
});

it('of several folders that are shown as one a look waits for the names of all, and who lists them is told of all', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1' }, '/n': { '/b.mkv': '2' } }, { paths: 'x:/m\nx:/n' });
  const turn = { running: 0, most: 0 };
  for (const [path, bytes] of [
    ['/m', 1_000],
    ['/n', 1e12],
  ] as const) {
    const inner = below.get(path) as Required<StorageDriver>;
    const list = inner.list.bind(inner);
    inner.list = async function* (directory, options) {
      options?.beforeNames?.(bytes);
      turn.running += 1;
      turn.most = Math.max(turn.most, turn.running);
      yield* list(directory, options);
      turn.running -= 1;
    };
  }
  const looks = ['/a.strm', '/b.strm', '/none.strm'].map((path) => driver.stat(at(path)).catch(() => undefined));
  expect((await Promise.all(looks)).map((entry) => entry?.name)).toEqual(['a.strm', 'b.strm', undefined]);
  expect(turn.most).toBe(1);
  const tell = (bytes: number) => {
    throw new Error(`told of ${bytes}`);
  };
  await expect(entriesIn(driver, '/', { beforeNames: tell })).rejects.toThrow(`told of ${1e12 + 1_000}`);
});

it('of several short folders each is listed once, whoever is to be told of long ones', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1' }, '/n': { '/b.mkv': '2' } }, { paths: 'x:/m\nx:/n' });
  const lists = [...below.values()].map((inner) => vi.spyOn(inner, 'list'));
  expect(await entriesIn(driver, '/', { beforeNames: () => undefined })).toHaveLength(2);
  for (const list of lists) expect(list).toHaveBeenCalledTimes(1);
});

it('what listings hold counts among those of all storages as what it is, and is given back', async () => {
  const files = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`/${index}.mkv`, '']));
  const { driver } = await opened({ '/m': files }, {}, createListingRoom(4 * MIB, 4 * MIB));
  const first = driver.list(at('/'))[Symbol.asyncIterator]();
  await first.next();
  await refuses('OVERLOADED', entriesIn(driver, '/'));
  await first.return?.();
  for (const _again of [1, 2]) expect(await namesIn(driver, '/')).toHaveLength(5_000);
});

it('what is listed anew, as one of several folders is long, counts once', async () => {
  const filesOf = (letter: string) => Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`/${letter}${index}.mkv`, '']));
  const folders = { '/m': filesOf('m'), '/n': filesOf('n') };
  // Each has some 280 KiB.
  const { driver, below } = await opened(folders, { paths: 'x:/m\nx:/n' }, createListingRoom(700 * 1024, 4 * MIB));
  const long = below.get('/n') as Required<StorageDriver>;
  const list = long.list.bind(long);
  long.list = async function* (directory, options) {
    options?.beforeNames?.(1_000);
    yield* list(directory, options);
  };
  const told: number[] = [];
  expect(await entriesIn(driver, '/', { beforeNames: (bytes) => void told.push(bytes) })).toHaveLength(6_000);
  expect(told).toEqual([1_000]);
});

it('of a deep folder what no path leads to is left out, and all else is listed', async () => {
  const folder = `${`/${'d'.repeat(249)}`.repeat(16)}/${'e'.repeat(89)}`;
  const { driver } = await opened({ '/m': { [`${folder}/a.mkv`]: '1', [`${folder}/b.srt`]: '2' } });
  expect(await namesIn(driver, folder)).toEqual(['b.srt']);
});

it('looks in a folder whose server is silent keep nobody from the others', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1' }, '/n': { '/b.mkv': '2' } });
  const [silent, other] = [Promise.withResolvers<void>(), below.get('/n') as Required<StorageDriver>];
  let asked = 0;
  (below.get('/m') as Required<StorageDriver>).list = async function* () {
    asked += 1;
    await silent.promise;
    yield* other.list(at('/'));
  };
  const looks = [1, 2, 3, 4, 5, 6].map((user) => driver.stat(at(`/m/${user}.strm`), { caller: `user ${user}` }).catch(() => undefined));
  await vi.waitFor(() => expect(asked).toBe(4));
  expect(await driver.stat(at('/n/b.strm'))).toMatchObject({ name: 'b.strm' });
  silent.resolve();
  await Promise.all(looks);
});

it('of a large folder a file is not shown by a look either where a folder before it has its name', async () => {
  const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`/${index}.mkv`, '']));
  const { driver, below } = await opened({ '/m': many, '/n': { '/film.mkv': '1' } }, { paths: 'x:/m\nx:/n' });
  await (below.get('/m') as Required<StorageDriver>).makeDirectory(at('/film.mkv'));
  await refuses('ENTRY_NOT_FOUND', driver.stat(at('/film.strm')));
  expect(await namesIn(driver, '/')).not.toContain('film.strm');
});

it('a folder that takes too much to be shown is not listed, and its files are found', async () => {
  const { driver, below } = await opened({ '/m': { '/a.mkv': '1' } });
  const inner = below.get('/m');
  if (!inner) throw new Error('nothing is below');
  const [entry] = await entriesIn(inner, '/');
  if (!entry) throw new Error('nothing is there');
  inner.list = async function* () {
    yield entry;
    for (let index = 0; index < 60_000; index += 1) yield { ...entry, name: `${'x'.repeat(200)}${index}.mkv` as EntryName };
  };
  await refuses('FAILED_PRECONDITION', entriesIn(driver, '/'));
  expect(await driver.stat(at('/a.strm'))).toMatchObject({ name: 'a.strm' });
});

it('what is remembered of a folder does not keep the names around it (C18)', async () => {
  const below = decorated({
    ...operationsOf(await memoryDriver.open('{}')),
    // As a long folder of this machine comes: names are parts of a text of a thousand.
    async *list() {
      for (let text = 0; text < 20; text += 1) {
        const names = Array.from({ length: 1_000 }, (_, index) => `${text}-${index}`.padEnd(100, 'n'));
        const joined = Buffer.from([...names, `this is a film ${text}.mkv`].join('/')).toString();
        for (const name of joined.split('/') as EntryName[]) yield { name, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
      }
    },
  });
  const addition = JSON.stringify({ paths: '/m', siteUrl: 'http://x', filterFileTypes: 'mkv' });
  const open: StorageDriver[] = [];
  const before = usedBytes();
  for (let storage = 0; storage < 5; storage += 1) {
    const driver = await strmDriver.open(addition, { openMount: async () => below });
    expect(await namesIn(driver, '/')).toHaveLength(20);
    open.push(driver);
  }
  // The texts have 10 MB.
  expect(usedBytes() - before).toBeLessThan(3_000_000);
  for (const driver of open) await driver.close();
});
