import { cp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStoreFile } from '../src/storage/open-store-file.ts';

const NAMES = ['a', 'b', 'c'];
const WAL_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4096;

/** A store that was killed after it had answered three batches, which are in the WAL alone. */
let dir: TempDir;
let main: string;
let wal: string;
beforeEach(async () => {
  const open = await makeTempDir('open');
  dir = await makeTempDir('killed');
  main = join(dir.path, 'store.sqlite');
  wal = `${main}-wal`;
  const file = openStoreFile(open.path);
  for (const name of NAMES) {
    file.write(
      () => file.exec(`INSERT INTO collections (database, name) VALUES ('d', '${name}')`),
      () => {},
    );
    file.commit();
  }
  await cp(open.path, dir.path, { recursive: true });
  file.close();
  await open.remove();
});
afterEach(() => dir.remove());

function namesThere(): unknown[] {
  const file = openStoreFile(dir.path);
  const names = file.prepare('SELECT name FROM collections ORDER BY name').all();
  file.close();
  return names.flat();
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
  ['the main file is empty', () => truncate(main, 0)],
  ['the main file is missing', () => rm(main)],
])('no start with a WAL that lacks what was answered (%s), which stays as it is', async (_, damage) => {
  await damage();
  const before = await readFile(wal);
  for (let time = 0; time < 2; time += 1)
    expect(() => openStoreFile(dir.path)).toThrow(/the last changes.*are not there.*restore the whole folder from a backup/);
  expect(await readFile(wal)).toEqual(before);
});

it('a WAL that SQLite has moved into the main file and removed, as after a start whose disk could not be read, is not missed', () => {
  new DatabaseSync(main).exec('PRAGMA journal_mode = DELETE');
  expect(namesThere()).toEqual(NAMES);
});

it('a store that lost its last changes goes on with what is left where its mark is removed', async () => {
  await truncate(wal, (await readFile(wal)).length - FRAME_BYTES);
  await rm(join(dir.path, 'store.open'));
  expect(namesThere()).toEqual(NAMES.slice(0, -1));
});
