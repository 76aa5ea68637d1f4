import { makeTempDir, type TempDir } from '@wharf/harness';
import { deserialize, Int32, Long } from 'bson';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Doc } from '../src/bson/value.ts';
import { Engine } from '../src/server/engine.ts';
import { openStoreFile } from '../src/storage/open-store-file.ts';
import type { StoreFile } from '../src/storage/store-file.ts';

const SQLITE_FULL = 13;

let dir: TempDir;
let file: StoreFile;
let engine: Engine;
/** What a batch takes is up to the test: one that takes long is cut, and what comes after it is made durable by itself. */
let nowMs: number;
let turnMs: number;
beforeEach(async () => {
  dir = await makeTempDir('undone');
  file = openStoreFile(dir.path);
  nowMs = 0;
  turnMs = 0;
  engine = new Engine(file, {
    ...{ maxDocuments: 1_000, openConnections: () => 1, onUnforeseen: () => {} },
    nowMs: () => (nowMs += turnMs),
  });
  await runAll(...Array.from({ length: 300 }, (_, index) => insert(`early-${index}`)));
});
afterEach(async () => {
  file.close();
  await dir.remove();
});

const insert = (id: string): Doc => ({ insert: 'things', documents: [{ _id: id }], $db: 'test' });
const find = (id: string): Doc => ({ find: 'things', filter: { _id: id }, $db: 'test' });
const all = (): Doc => ({ find: 'things', batchSize: new Int32(2), $db: 'test' });
const count = (): Doc => ({ count: 'things', $db: 'test' });

const idOf = (cursor: unknown): Long => Long.fromNumber(Number(Reflect.get(Object(cursor), 'id')));

/** Has the next commit fail: it is refused what does not lead anywhere. */
function breakCommit(): void {
  const nothing = () => {};
  file.write(
    () =>
      file.exec(
        'CREATE TABLE lead (nowhere INTEGER REFERENCES collections (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO lead VALUES (-1)',
      ),
    nothing,
  );
}

/** As SQLite does where the disk is full. */
function undoAsFull(): void {
  const fails = () => {
    file.exec('ROLLBACK');
    throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
  };
  expect(() => file.write(fails, () => {})).toThrow('full');
}

/** Runs commands that come in the same turn. @returns their answers */
async function runAll(...bodies: Doc[]): Promise<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = [];
  for (const [index, body] of bodies.entries())
    engine.submit({
      body,
      connectionId: 1,
      answer: (document) => {
        expect(answers[index]).toBeUndefined();
        answers[index] = deserialize(document);
      },
    });
  engine.drain();
  return answers;
}

it('where a batch cannot be made durable its writes fail, and reads tell what is there', async () => {
  breakCommit();
  const answers = await runAll(find('early-1'), count(), insert('lost'), find('lost'), find('early-2'), count(), all());
  expect(answers).toMatchObject([
    { ok: 1, cursor: { firstBatch: [{ _id: 'early-1' }] } },
    { ok: 1, n: 300 },
    { ok: 0, codeName: 'InternalError' },
    { ok: 1, cursor: { firstBatch: [] } },
    { ok: 1, cursor: { firstBatch: [{ _id: 'early-2' }] } },
    { ok: 1, n: 300 },
    { ok: 1, cursor: { firstBatch: [{ _id: 'early-0' }, { _id: 'early-1' }] } },
  ]);
  expect(await runAll(insert('next'), find('next'))).toMatchObject([
    { ok: 1, n: 1 },
    { ok: 1, cursor: { firstBatch: [{ _id: 'next' }] } },
  ]);
});

it('a batch that takes long is cut: what ran by then fails with it, and what comes after it does not', async () => {
  turnMs = 60;
  breakCommit();
  const answers = await runAll(insert('lost'), insert('lost, too'), insert('kept'), find('lost'), find('kept'));
  expect(answers).toMatchObject([
    { ok: 0, codeName: 'InternalError' },
    { ok: 0, codeName: 'InternalError' },
    { ok: 1, n: 1 },
    { ok: 1, cursor: { firstBatch: [] } },
    { ok: 1, cursor: { firstBatch: [{ _id: 'kept' }] } },
  ]);
});

it('a cursor that went on after the write that failed is not told twice, and one before it goes on', async () => {
  const [{ cursor } = {}] = await runAll(all());
  const more: Doc = { getMore: idOf(cursor), collection: 'things', batchSize: new Int32(2), $db: 'test' };
  breakCommit();
  const answers = await runAll(more, insert('lost'), more);
  expect(answers).toMatchObject([{ ok: 1, cursor: { nextBatch: [{ _id: 'early-10' }, { _id: 'early-100' }] } }, { ok: 0 }, { ok: 0 }]);
});

it('lists that are read again leave no cursor behind', async () => {
  for (let round = 0; round < 30; round += 1) {
    breakCommit();
    const answers = await runAll(insert('lost'), ...Array.from({ length: 40 }, all));
    for (const { cursor } of answers.slice(1)) {
      expect(cursor).toMatchObject({ firstBatch: [{ _id: 'early-0' }, { _id: 'early-1' }] });
      expect(await runAll({ killCursors: 'things', cursors: [idOf(cursor)], $db: 'test' })).toMatchObject([{ ok: 1 }]);
    }
  }
});

it('where SQLite has undone the batch by itself because the disk is full, its writes are told so', async () => {
  undoAsFull();
  const answers = await runAll(find('early-1'), insert('lost'), insert('lost, too'), find('lost'));
  expect(answers).toMatchObject([
    { ok: 1, cursor: { firstBatch: [{ _id: 'early-1' }] } },
    { ok: 0, codeName: 'OutOfDiskSpace' },
    { ok: 0, codeName: 'OutOfDiskSpace' },
    { ok: 1, cursor: { firstBatch: [] } },
  ]);
  expect(await runAll(insert('next'))).toMatchObject([{ ok: 1, n: 1 }]);
});

it('where what is due could not be removed for good, it is there and counted, once however often that is tried', async () => {
  const key = { at: new Int32(1) };
  const ttl: Doc = { createIndexes: 'due', indexes: [{ key, name: 'at_1', expireAfterSeconds: new Int32(0) }], $db: 'test' };
  const documents = Array.from({ length: 10 }, (_, _id) => ({ _id: new Int32(_id), at: new Date(0) }));
  await runAll(ttl, { insert: 'due', documents, $db: 'test' });
  for (let round = 0; round < 3; round += 1) {
    breakCommit();
    expect(engine.tidy()).toBe(false);
    expect(await runAll({ count: 'due', $db: 'test' })).toMatchObject([{ ok: 1, n: 10 }]);
  }
  engine.tidy();
  expect(await runAll({ count: 'due', $db: 'test' })).toMatchObject([{ ok: 1, n: 0 }]);
});
