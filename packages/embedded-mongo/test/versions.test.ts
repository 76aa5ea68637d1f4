import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { makeTempDir, startProcess, type TempDir, waitFor } from '@wharf/harness';
import { mongo } from 'mongoose';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runningStoreUrl, STORE_COPY, startEmbeddedMongo } from '../src/index.ts';
import { StoreFile } from '../src/storage/store-file.ts';

const TO_2 = (file: StoreFile) => file.exec('ALTER TABLE collections ADD COLUMN note TEXT');

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('versions');
});
afterEach(() => dir.remove());

const layoutOf = (file: string): unknown => {
  const database = new DatabaseSync(join(dir.path, file), { readOnly: true });
  const layout = database.prepare('PRAGMA user_version').get()?.['user_version'];
  database.close();
  return layout;
};

it('a file of an older layout is copied, then brought to this one', async () => {
  StoreFile.open(dir.path, []).close();
  const file = StoreFile.open(dir.path, [TO_2]);
  expect(file.prepare('SELECT note FROM collections').all()).toEqual([]);
  file.close();
  expect([layoutOf('store.sqlite'), layoutOf('store.before-layout-2.sqlite')]).toEqual([2, 1]);
  expect((await stat(join(dir.path, 'store.before-layout-2.sqlite'))).mode & 0o777).toBe(0o600);
  StoreFile.open(dir.path, [TO_2]).close();
});

it('a copy that fails leaves nothing on the disk, which may be full of it', async () => {
  const file = StoreFile.open(dir.path, []);
  const { exec } = DatabaseSync.prototype;
  const full = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (sql.includes('DROP TABLE')) throw new Error('database or disk is full');
    return exec.call(this, sql);
  });
  expect(() => file.copyAs('backup')).toThrow('disk is full');
  full.mockRestore();
  expect((await readdir(dir.path)).filter((name) => name.includes('backup'))).toEqual([]);
  file.close();
});

it('a file of a newer layout is refused, saying what to do, and stays as it is', () => {
  StoreFile.open(dir.path, [TO_2]).close();
  expect(() => StoreFile.open(dir.path, [])).toThrow(/layout 2, written by a newer version.*start that version/);
  expect(layoutOf('store.sqlite')).toBe(2);
});

it('a store that was killed opens with all it had after a start that was refused', async () => {
  const file = StoreFile.open(dir.path, [TO_2]);
  const write = () => file.exec("INSERT INTO collections (database, name) VALUES ('d', 'c')");
  file.write(write, () => {});
  file.commit();
  const killed = await makeTempDir('killed');
  await cp(dir.path, killed.path, { recursive: true });
  file.close();
  expect(() => StoreFile.open(killed.path, [])).toThrow(/written by a newer version/);
  const again = StoreFile.open(killed.path, [TO_2]);
  expect(again.prepare('SELECT name FROM collections').all()).toEqual([['c']]);
  again.close();
  await killed.remove();
});

it('a file that went back to an older layout is copied again before it is changed', async () => {
  StoreFile.open(dir.path, []).close();
  StoreFile.open(dir.path, [TO_2]).close();
  const copy = join(dir.path, 'store.before-layout-2.sqlite');
  await cp(copy, join(dir.path, 'store.sqlite'));
  const older = StoreFile.open(dir.path, []);
  older.write(
    () => older.exec("INSERT INTO collections (database, name) VALUES ('d', 'since')"),
    () => {},
  );
  older.close();
  StoreFile.open(dir.path, [TO_2]).close();
  const database = new DatabaseSync(copy, { readOnly: true });
  expect(database.prepare('SELECT name FROM collections').all()).toEqual([{ name: 'since' }]);
  database.close();
});

it('a batch whose transaction SQLite has undone by itself is undone as a whole', () => {
  const file = StoreFile.open(dir.path, []);
  const insert = (name: string) => () => file.exec(`INSERT INTO collections (database, name) VALUES ('d', '${name}')`);
  const nothing = () => {};
  file.write(insert('before'), nothing);
  const fails = () => {
    // As where the disk is full, or cannot be read.
    file.exec('ROLLBACK');
    throw new Error('database or disk is full');
  };
  expect(() => file.write(fails, nothing)).toThrow('database or disk is full');
  expect(() => file.write(insert('after'), nothing)).toThrow();
  expect(() => file.commit()).toThrow();
  expect(file.prepare('SELECT name FROM collections').all()).toEqual([]);
  file.write(insert('next batch'), nothing);
  file.commit();
  expect(file.prepare('SELECT name FROM collections').all()).toEqual([['next batch']]);
  file.close();
});

it('a file of layout 1, whose keys put texts with NUL in the wrong place, finds and orders them', async () => {
  const fixture = join(import.meta.dirname, 'fixtures', 'layout-1.sqlite.gz');
  await writeFile(join(dir.path, 'store.sqlite'), gunzipSync(await readFile(fixture)), { mode: 0o600 });
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  const client = await mongo.MongoClient.connect(store.url);
  const collection = client.db('test').collection<{ _id: string; text: string; parts: string[] }>('texts');
  const ids = async (filter: object, sort: Record<string, 1 | -1>) =>
    (await collection.find(filter).sort(sort).toArray()).map(({ _id }) => _id);
  const texts = ['', '\0', 'a', 'a\0', 'a\0b', 'a\u0001', 'a\u0002', 'ab', 'b'];
  for (const field of ['_id', 'text']) {
    expect(await ids({}, { [field]: 1 })).toEqual(texts);
    expect(await ids({}, { [field]: -1 })).toEqual(texts.toReversed());
    for (const [index, text] of texts.entries()) {
      expect(await ids({ [field]: text }, { [field]: 1 })).toEqual([text]);
      expect(await ids({ [field]: { $gt: text } }, { [field]: 1 })).toEqual(texts.slice(index + 1));
      expect(await ids({ [field]: { $lt: text } }, { [field]: -1 })).toEqual(texts.slice(0, index).toReversed());
    }
  }
  for (const text of texts) expect(await ids({ parts: `${text}!` }, { text: 1 })).toEqual([text]);
  await expect(collection.insertOne({ _id: 'other', text: 'a\0', parts: [] })).rejects.toMatchObject({ code: 11000 });
  await client.close();
  await store.stop();
  expect([layoutOf('store.sqlite'), layoutOf('store.before-layout-2.sqlite')]).toEqual([2, 1]);
});

it('a copy has what was committed, is made once, and opens as a store', async () => {
  const first = await startEmbeddedMongo({ dataDir: dir.path });
  const writer = await mongo.MongoClient.connect(first.url);
  const write = (text: string) => writer.db('test').collection('a').insertOne({ text });
  await write('before');
  await writer.close();
  await first.stop();
  for (const round of [1, 2]) {
    const store = await startEmbeddedMongo({ dataDir: dir.path, copyAs: 'before-data-2' });
    const client = await mongo.MongoClient.connect(store.url);
    await client.db('test').collection('a').insertOne({ round });
    await client.close();
    await store.stop();
  }
  expect((await readdir(dir.path)).toSorted()).toEqual(['store.before-data-2.sqlite', 'store.sqlite']);
  const copy = new DatabaseSync(join(dir.path, 'store.before-data-2.sqlite'), { readOnly: true });
  expect(copy.prepare('SELECT count(*) AS n FROM documents_1').get()).toEqual({ n: 1 });
  copy.close();
});

it('a store that serves others copies itself on request: all that was acknowledged before, and each command whole or not at all', async () => {
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  const client = await mongo.MongoClient.connect(runningStoreUrl(dir.path));
  const pairs = client.db('test').collection<{ pair: number }>('pairs');
  const acknowledged = new Set<number>();
  let isOver = false;
  const writing = [0, 1, 2].map(async (writer) => {
    for (let pair = writer; !isOver; pair += 3) {
      await pairs.insertMany([{ pair }, { pair }]);
      acknowledged.add(pair);
    }
  });
  await waitFor('writes', async () => acknowledged.size > 30);
  const before = [...acknowledged];
  await client.db('admin').command(STORE_COPY.command);
  const acknowledgedUntil = acknowledged.size;
  await waitFor('more writes', async () => acknowledged.size > acknowledgedUntil + 30);
  isOver = true;
  await Promise.all(writing);
  expect(await pairs.countDocuments()).toBe(acknowledged.size * 2);
  await client.close();
  await store.stop();

  const file = join(dir.path, STORE_COPY.file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const restored = await makeTempDir('restored');
  await rename(file, join(restored.path, 'store.sqlite'));
  const again = await startEmbeddedMongo({ dataDir: restored.path });
  const reader = await mongo.MongoClient.connect(again.url);
  const counts = new Map<number, number>();
  for await (const { pair } of reader.db('test').collection<{ pair: number }>('pairs').find())
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  await reader.close();
  await again.stop();
  await restored.remove();
  expect(before.filter((pair) => counts.get(pair) !== 2)).toEqual([]);
  expect([...counts.values()].filter((count) => count !== 2)).toEqual([]);
});

it('a store that was killed is not opened without its WAL', async () => {
  const main = join(import.meta.dirname, '..', 'src', 'main.ts');
  const args = [main, '--data-dir', dir.path];
  const ready = { line: (line: string) => /^ready (\S+)$/.exec(line)?.[1] };
  const store = await startProcess({ name: 'embedded store', command: process.execPath, args, ready });
  const client = await mongo.MongoClient.connect(store.ready);
  await client.db('test').collection('a').insertOne({ a: 1 });
  // Of a client whose connection was cut, the driver's close may not come back.
  await client.close();
  await store.kill();
  await rm(join(dir.path, 'store.sqlite-wal'));
  await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({
    code: 'CONTENT_CORRUPT',
    message: expect.stringMatching(/store\.sqlite-wal is missing.*restore the whole folder from a backup/),
  });
});
