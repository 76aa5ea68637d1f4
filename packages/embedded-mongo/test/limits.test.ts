import { once } from 'node:events';
import { connect } from 'node:net';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { mongo } from 'mongoose';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type EmbeddedMongo, startEmbeddedMongo } from '../src/index.ts';
import { failureOf } from './contract/store-contract.ts';

let dir: TempDir;
let store: EmbeddedMongo;
let client: mongo.MongoClient;

beforeAll(async () => {
  dir = await makeTempDir('limits');
  store = await startEmbeddedMongo({ dataDir: dir.path, listen: { host: '127.0.0.1', port: 0 }, maxDocuments: 100 });
  client = await mongo.MongoClient.connect(store.url);
});
afterAll(async () => {
  await client.close();
  await store.stop();
  await dir.remove();
});

it('a document beyond the limit is refused, and has room again after a removal', async () => {
  const collection = client.db('test').collection('limited');
  await collection.insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
  const failure = await failureOf(collection.insertOne({ n: 100 }));
  expect(failure.code).toBe(14031);
  expect(failure.message).toContain('at most 100 documents');
  await collection.deleteOne({ n: 5 });
  await collection.insertOne({ n: 100 });
  await collection.drop();
  await collection.insertOne({ n: 0 });
  await collection.drop();
});

it('the last documents are kept for collections that need them, and are used again', async () => {
  const folder = await makeTempDir('kept');
  const full = await startEmbeddedMongo({ dataDir: folder.path, maxDocuments: 100, keptFor: ['sessions', 'attempts/2'] });
  const connected = await mongo.MongoClient.connect(full.url);
  onTestFinished(async () => {
    await connected.close();
    await full.stop();
    await folder.remove();
  });
  const [tasks, sessions] = [connected.db('test').collection('tasks'), connected.db('test').collection('sessions')];
  const refusal = await failureOf(tasks.insertMany(Array.from({ length: 100 }, (_, n) => ({ n }))));
  expect([refusal.code, await tasks.countDocuments()]).toEqual([14031, 95]);
  const attempts = connected.db('test').collection('attempts');
  await attempts.insertMany([{ n: 0 }, { n: 1 }]);
  expect((await failureOf(attempts.insertOne({ n: 2 }))).code).toBe(14031);
  await attempts.deleteMany({});
  await sessions.insertMany(Array.from({ length: 5 }, (_, n) => ({ n })));
  expect((await failureOf(sessions.insertOne({ n: 5 }))).code).toBe(14031);
  // What is there can still be changed and removed.
  expect(await tasks.updateMany({}, { $set: { done: true } })).toMatchObject({ modifiedCount: 95 });
  await tasks.deleteOne({ n: 5 });
  expect((await failureOf(tasks.insertOne({ n: 5 }))).code).toBe(14031);
  await sessions.insertOne({ n: 5 });
});

it('what the keys of an index tell is counted without a document being read', async () => {
  const collection = client.db('test').collection<{ _id: number; a?: unknown; b?: unknown; c?: string }>('counted');
  await collection.createIndexes([{ key: { a: 1, b: -1 } }, { key: { c: 1 }, sparse: true }]);
  const values = [1, new mongo.Double(1), new mongo.Long(1), '1', 'ann', 'anna', true, false, null, Number.NaN, undefined];
  await collection.insertMany(values.map((a, _id) => ({ _id, ...(a !== undefined && { a }), b: _id % 2, c: 'long '.repeat(10) })));
  const status = async () =>
    (await client.db('test').admin().command({ serverStatus: 1 }))['metrics'].queryExecutor.scannedObjects as number;
  const counts = async (filters: readonly object[]) => {
    const before = await status();
    const found: number[] = [];
    for (const filter of filters)
      found.push(await collection.countDocuments(filter), await collection.countDocuments(filter, { limit: 2 }));
    return { found, read: (await status()) - before };
  };
  const told = [
    { a: 1 },
    { a: 'ann' },
    { a: { $in: ['ann', true, 'none'] } },
    { a: 1, b: 1 },
    { $and: [{ a: { $in: [1, '1'] } }, { b: 1 }, { a: '1' }] },
  ];
  expect(await counts(told)).toEqual({ found: [3, 2, 1, 1, 2, 2, 1, 1, 1, 1], read: 0 });
  // Of these the documents are looked at.
  const others = [{ a: null }, { a: { $gt: 'a' } }, { b: 1 }, { a: 1, _id: 1 }, { c: 'long '.repeat(10) }, { a: { $ne: 1 } }];
  expect((await counts(others)).found).toEqual([2, 2, 2, 2, 5, 2, 1, 1, 11, 2, 8, 2]);
  await collection.insertOne({ _id: 11, a: [1, '1'], b: 1 });
  expect((await counts(told)).found).toEqual([4, 2, 1, 1, 2, 2, 2, 2, 2, 2]);
  await collection.drop();
});

it('a dropped collection ends its open cursors', async () => {
  const collection = client.db('test').collection('cursors');
  await collection.insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  const cursor = collection.find({}, { batchSize: 2 });
  await cursor.next();
  await collection.drop();
  const rest = async () => {
    while (await cursor.next());
  };
  expect((await failureOf(rest())).code).toBe(175);
});

it('an undone command leaves open cursors alone', async () => {
  const collection = client.db('test').collection('undone');
  await collection.insertMany(Array.from({ length: 40 }, (_, n) => ({ n: n % 20 })));
  const cursor = collection.find({}, { batchSize: 2 });
  await cursor.next();
  expect((await failureOf(collection.createIndex({ n: 1 }, { unique: true }))).code).toBe(11000);
  expect((await cursor.toArray()).length).toBe(39);
  await collection.drop();
});

it('a connection that does not speak the protocol is closed, and the others go on', async () => {
  const { port } = new URL(store.url);
  for (const bytes of [
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    Buffer.alloc(64, 0xff),
    Buffer.from([17, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 9]),
  ]) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(bytes);
    await once(socket, 'close');
  }
  expect(await client.db('test').command({ ping: 1 })).toMatchObject({ ok: 1 });
});

it('a query beyond its time is ended', async () => {
  const collection = client.db('test').collection('slow');
  await collection.insertMany(Array.from({ length: 90 }, (_, n) => ({ n, text: 'x'.repeat(100_000) })));
  expect((await failureOf(collection.find({ text: { $regex: 'y' } }, { maxTimeMS: 1 }).toArray())).code).toBe(50);
  await collection.drop();
});

it('so is an aggregation that makes much of little', async () => {
  const collection = client.db('test').collection('steps');
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  await collection.insertOne({ a: numbers, b: numbers, c: numbers });
  const stages = [{ $unwind: '$a' }, { $unwind: '$b' }, { $unwind: '$c' }, { $group: { _id: null, sum: { $sum: '$c' } } }];
  expect((await failureOf(collection.aggregate(stages, { maxTimeMS: 50 }).toArray())).code).toBe(50);
  await collection.drop();
});

it('names that JavaScript or the BSON library would misread are refused', async () => {
  const document: unknown = JSON.parse('{"__proto__": {"a": 1}}');
  expect((await failureOf(client.db('test').collection('names').insertOne(Object(document)))).code).toBe(2);
});

it('a document of 100 levels is stored, a deeper one is refused, and neither stops the store', async () => {
  const nested = (levels: number): mongo.Document => (levels === 1 ? {} : { a: nested(levels - 1) });
  const collection = client.db('test').collection('deep');
  await collection.insertOne(nested(100));
  expect((await failureOf(collection.insertOne(nested(101)))).code).toBe(15);
  expect((await failureOf(collection.insertOne(nested(1000)))).code).toBe(15);
  expect(await collection.countDocuments()).toBe(1);
});

it('bytes that are nested without end are answered with an error', async () => {
  const LEVELS = 200_000;
  // Each level: length, 03 "a" 00, the level inside, 00.
  const body = Buffer.alloc(LEVELS * 8 + 5);
  for (let level = 0; level <= LEVELS; level++) {
    const at = level * 7;
    body.writeInt32LE(LEVELS * 8 + 5 - level * 8, at);
    if (level < LEVELS) body.set([3, 0x61, 0], at + 4);
  }
  const header = Buffer.alloc(21);
  header.writeInt32LE(header.length + body.length, 0);
  header.writeInt32LE(7, 4);
  header.writeInt32LE(2013, 12);
  const socket = connect(Number(new URL(store.url).port), '127.0.0.1');
  socket.write(Buffer.concat([header, body]));
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(mongo.BSON.deserialize(answer.subarray(21))).toMatchObject({ ok: 0, code: 15 });
  expect(await client.db('test').command({ ping: 1 })).toMatchObject({ ok: 1 });
});

it('tells which queries no index narrows down', async () => {
  const collection = client.db('test').collection<{ _id: number; a: number; b: number }>('indexed');
  await collection.createIndex({ a: 1 });
  await collection.insertOne({ _id: 1, a: 1, b: 2 });
  const scansOf = async () => {
    const { scans } = await client.db().admin().command({ serverStatus: 1 });
    return (scans as { ns: string }[]).filter(({ ns }) => ns === 'test.indexed');
  };
  for (const filter of [{ a: 1, b: 2 }, { _id: 1 }, { a: { $gt: 0 } }, {}]) await collection.findOne(filter);
  await collection.find().sort({ a: 1 }).toArray();
  expect(await scansOf()).toEqual([]);
  await collection.find({ b: 2 }).toArray();
  await collection.updateMany({ b: { $lt: 2 } }, { $set: { b: 2 } });
  // The order is the index's, but all of it is read.
  await collection.find({ b: 2 }).sort({ a: 1 }).toArray();
  expect(await scansOf()).toEqual([{ ns: 'test.indexed', fields: 'b', times: 3 }]);
});
