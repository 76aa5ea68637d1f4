import { hash } from 'node:crypto';
import fs from 'node:fs';
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStoreFile } from '../src/storage/open-store-file.ts';
import { StoreFile } from '../src/storage/store-file.ts';

const NAMES = ['a', 'b', 'c'];
const WAL_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4096;

/** A store that was killed after it had answered three batches, which are in the WAL alone. */
let dir: TempDir;
let main: string;
let wal: string;
let mark: string;
beforeEach(async () => {
  const open = await makeTempDir('open');
  dir = await makeTempDir('killed');
  main = join(dir.path, 'store.sqlite');
  wal = `${main}-wal`;
  mark = join(dir.path, 'store.open');
  const file = openStoreFile(open.path);
  for (const name of NAMES) addName(file, name);
  await cp(open.path, dir.path, { recursive: true });
  file.close();
  await open.remove();
});
afterEach(() => dir.remove());

function addName(file: StoreFile, name: string): void {
  file.write(
    () => file.exec(`INSERT INTO collections (database, name) VALUES ('d', '${name}')`),
    () => {},
  );
  file.commit();
}

function namesThere(): unknown[] {
  const file = openStoreFile(dir.path);
  const names = file.prepare('SELECT name FROM collections ORDER BY name').all();
  file.close();
  return names.flat();
}

/** All of the folder. The times tell also what was moved away, or made, for a moment. */
async function folder(): Promise<unknown[]> {
  const times = async (path: string) => {
    const { ino, mtimeNs } = await stat(path, { bigint: true });
    return { ino, mtimeNs };
  };
  const names = (await readdir(dir.path)).toSorted();
  const files = names.map(async (name) => {
    const path = join(dir.path, name);
    return { name, hash: hash('sha256', await readFile(path)), ...(await times(path)) };
  });
  return [await times(dir.path), ...(await Promise.all(files))];
}

/** @param at counted from the end where it is negative */
async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  const place = at < 0 ? bytes.length + at : at;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

it('what was answered is there after a kill', () => {
  expect(namesThere()).toEqual(NAMES);
});

it.each<[string, () => Promise<void>]>([
  ['a bit of its header is another one', () => flip(wal, 17)],
  ['a bit of its first page is another one', () => flip(wal, WAL_HEADER_BYTES + 100)],
  ['a bit of its last page is another one', () => flip(wal, -1)],
  ['its last page is cut', async () => truncate(wal, (await readFile(wal)).length - 1)],
  ['its last page is missing', async () => truncate(wal, (await readFile(wal)).length - FRAME_BYTES)],
  ['it is empty', () => truncate(wal, 0)],
  ['it is all zero', async () => writeFile(wal, Buffer.alloc((await readFile(wal)).length))],
  ['it is missing', () => rm(wal)],
  ['the main file is empty', () => truncate(main, 0)],
  ['the main file is missing', () => rm(main)],
])('no start with a WAL that lacks what was answered (%s), and all stays as it is', async (_, damage) => {
  await damage();
  const before = await folder();
  for (let time = 0; time < 2; time += 1)
    expect(() => openStoreFile(dir.path)).toThrow(/the last changes.*are not there.*restore the whole folder from a backup/);
  expect(await folder()).toEqual(before);
});

it('an older WAL beside a newer main file is not written over it: without that WAL the store starts, and has what was answered', async () => {
  const [newer, answered] = [await readFile(wal), await readFile(mark)];
  expect(namesThere()).toEqual(NAMES);
  await writeFile(wal, newer.subarray(0, -FRAME_BYTES));
  await writeFile(mark, answered);
  const before = await folder();
  expect(() => openStoreFile(dir.path)).toThrow('has 3 of 4 batches of changes');
  expect(await folder()).toEqual(before);
  await rm(wal);
  expect(namesThere()).toEqual(NAMES);
});

it('a main file that is damaged stays as it is, though there is a WAL that could be moved into it', async () => {
  namesThere();
  const file = openStoreFile(dir.path);
  addName(file, 'd');
  const files = await Promise.all([main, wal, mark].map(async (path) => ({ path, bytes: await readFile(path) })));
  file.close();
  for (const { path, bytes } of files) await writeFile(path, bytes);
  await flip(main, 0);
  const before = await folder();
  expect(() => openStoreFile(dir.path)).toThrow('is damaged or not a store');
  expect(await folder()).toEqual(before);
});

describe('a main file that is not the one of the WAL', () => {
  /** All of its pages are moved into the main file, and the next batch begins the WAL anew. */
  const LONG = 'x'.repeat(5_000_000);

  it.each<[string, (file: StoreFile, folder: string) => Promise<void>]>([
    [
      'a backup that was made while it ran',
      async (file, folder) => {
        file.copyAs('backup');
        await cp(join(folder, 'store.backup.sqlite'), main);
      },
    ],
    [
      'a copy of a moment before',
      async (file, folder) => {
        await cp(join(folder, 'store.sqlite'), main);
        addName(file, LONG);
        for (const name of ['e', 'f', 'g']) addName(file, name);
      },
    ],
  ])('is not mixed with it: %s', async (_, take) => {
    const killed = await makeTempDir('killed');
    await cp(dir.path, killed.path, { recursive: true });
    const file = openStoreFile(killed.path);
    for (const name of ['d', 'd2', 'd3']) addName(file, name);
    await take(file, killed.path);
    addName(file, 'h');
    for (const path of [wal, mark]) await cp(join(killed.path, basename(path)), path);
    file.close();
    await killed.remove();
    const before = await folder();
    expect(() => openStoreFile(dir.path)).toThrow(/is not the one that store.sqlite-wal beside it was written for/);
    expect(await folder()).toEqual(before);
    await Promise.all([wal, mark].map((path) => rm(path)));
    expect(namesThere()).toEqual(expect.arrayContaining(NAMES));
  });

  it('whatever was killed in between, the next start takes what belongs together', async () => {
    for (let round = 0; round < 3; round += 1) {
      const file = openStoreFile(dir.path);
      const names = [`${LONG}${round}`, ...Array.from({ length: round }, (_, at) => `n${round}.${at}`), `${LONG}${round}.`];
      const copies: Buffer[][] = [];
      for (const name of names) {
        addName(file, name);
        copies.push(await Promise.all([main, wal, mark].map((path) => readFile(path))));
      }
      file.close();
      for (const [at, copy] of copies.entries()) {
        await Promise.all([main, wal, mark].map((path, place) => writeFile(path, copy[place] ?? '')));
        expect(namesThere()).toContain(names[at]);
      }
    }
  });
});

it('no start beside one that has it open', () => {
  const open = openStoreFile(dir.path);
  expect(() => openStoreFile(dir.path)).toThrow('is in use by another process');
  open.close();
});

describe('after an older version was killed, which writes no number', () => {
  beforeEach(() => truncate(mark, 0));

  it('a start that fails does not tell the next one that the WAL is lost', () => {
    const full = () => {
      throw new Error('disk is full');
    };
    expect(() => StoreFile.open(dir.path, [() => {}, full])).toThrow('the store cannot be opened');
    expect(namesThere()).toEqual(NAMES);
  });

  it('nor does one that cannot write the number', () => {
    vi.spyOn(fs, 'writeSync').mockImplementationOnce(() => {
      throw new Error('disk is full');
    });
    syncBuiltinESMExports();
    try {
      expect(() => openStoreFile(dir.path)).toThrow('the store cannot be opened');
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
    expect(namesThere()).toEqual(NAMES);
  });
});

it('a WAL that SQLite has moved into the main file and removed, as after a start whose disk could not be read, is not missed', () => {
  new DatabaseSync(main).exec('PRAGMA journal_mode = DELETE');
  expect(namesThere()).toEqual(NAMES);
});

it('a store that lost its last changes goes on with what is left where its mark is removed', async () => {
  await truncate(wal, (await readFile(wal)).length - FRAME_BYTES);
  await rm(mark);
  expect(namesThere()).toEqual(NAMES.slice(0, -1));
});
