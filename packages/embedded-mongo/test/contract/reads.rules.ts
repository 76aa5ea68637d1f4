import { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, fill, type Rule } from './store-contract.ts';

const { Binary, Long, ObjectId } = mongo;

interface ProjectionCase {
  readonly title: string;
  readonly document: mongo.Document;
  readonly projection: mongo.Document;
  readonly shows: mongo.Document;
}

const PROJECTIONS: readonly ProjectionCase[] = [
  { title: 'inclusion shows the named fields and _id', document: { a: 1, b: 2 }, projection: { a: 1 }, shows: { _id: 0, a: 1 } },
  { title: 'inclusion without _id', document: { a: 1, b: 2 }, projection: { a: true, _id: 0 }, shows: { a: 1 } },
  { title: 'exclusion hides the named fields', document: { a: 1, b: 2 }, projection: { a: 0 }, shows: { _id: 0, b: 2 } },
  { title: 'exclusion of _id alone shows the rest', document: { a: 1, b: 2 }, projection: { _id: 0 }, shows: { a: 1, b: 2 } },
  { title: 'inclusion of _id alone shows nothing else', document: { a: 1 }, projection: { _id: 1 }, shows: { _id: 0 } },
  {
    title: 'inclusion goes into documents',
    document: { a: { b: 1, c: 2 }, d: 1 },
    projection: { 'a.b': 1 },
    shows: { _id: 0, a: { b: 1 } },
  },
  {
    title: 'inclusion may be written nested',
    document: { a: { b: 1, c: 2 }, d: 1 },
    projection: { a: { c: 1 } },
    shows: { _id: 0, a: { c: 2 } },
  },
  {
    title: 'inclusion goes into arrays and drops scalars there',
    document: { a: [{ b: 1, c: 2 }, 5, { c: 1 }] },
    projection: { 'a.b': 1 },
    shows: { _id: 0, a: [{ b: 1 }, {}] },
  },
  { title: 'inclusion below a scalar shows nothing of it', document: { a: 5 }, projection: { 'a.b': 1 }, shows: { _id: 0 } },
  {
    title: 'exclusion goes into arrays and keeps scalars there',
    document: { a: [{ b: 1, c: 2 }, 5] },
    projection: { 'a.b': 0 },
    shows: { _id: 0, a: [{ c: 2 }, 5] },
  },
];

export function readRules(rule: Rule): void {
  for (const { title, document, projection, shows } of PROJECTIONS) {
    rule(title, async ({ collection }) => {
      await fill(collection, [document]);
      expect(await collection.findOne({}, { projection })).toEqual(shows);
    });
  }

  rule('inclusion and exclusion are not mixed', async ({ collection }) => {
    await fill(collection, [{ a: 1, b: 2 }]);
    expect((await failureOf(collection.findOne({}, { projection: { a: 1, b: 0 } }))).code).toBe(31254);
    expect((await failureOf(collection.findOne({}, { projection: { a: 0, b: 1 } }))).code).toBe(31253);
  });

  rule('a sort over all types follows the BSON order', async ({ collection }) => {
    const ordered = [
      { v: null },
      { v: Number.NaN },
      { v: -5 },
      { v: 1.5 },
      { v: Long.fromString('9007199254740993') },
      { v: '' },
      { v: 'a' },
      { v: '\uFFFD' },
      { v: '\u{1F600}' },
      { v: {} },
      { v: { a: 1 } },
      { v: { a: 'x' } },
      { v: new Binary(Buffer.from('b')) },
      { v: new Binary(Buffer.from('ab')) },
      { v: new ObjectId('00112233445566778899aabb') },
      { v: false },
      { v: true },
      { v: new Date(-1) },
      { v: new Date(1) },
    ];
    const shuffled = ordered.map((document, index) => ({ ...document, index })).sort((a, b) => ((a.index * 7) % 19) - ((b.index * 7) % 19));
    await collection.insertMany(shuffled);
    const sortedBy = async (direction: 1 | -1) =>
      (await collection.find().sort({ v: direction }).toArray()).map((document) => document['index'] as unknown);
    const expected = ordered.map((_, index) => index);
    expect(await sortedBy(1)).toEqual(expected);
    expect(await sortedBy(-1)).toEqual(expected.toReversed());
    await collection.createIndex({ v: 1 });
    expect(await sortedBy(1)).toEqual(expected);
    expect(await sortedBy(-1)).toEqual(expected.toReversed());
  });

  rule('a missing field sorts as null', async ({ collection }) => {
    await fill(collection, [{ v: 1 }, {}, { v: -1 }]);
    expect((await collection.find().sort({ v: 1 }).toArray()).map((d) => d['_id'] as unknown)).toEqual([1, 2, 0]);
  });

  rule('an array sorts by its least element upwards and its greatest downwards', async ({ collection }) => {
    await fill(collection, [{ v: [5, 1] }, { v: 3 }, { v: [2, 4] }]);
    const ids = async (direction: 1 | -1) => (await collection.find().sort({ v: direction }).toArray()).map((d) => d['_id'] as unknown);
    expect(await ids(1)).toEqual([0, 2, 1]);
    expect(await ids(-1)).toEqual([0, 2, 1]);
  });

  rule('an empty array sorts below null', async ({ collection }) => {
    await fill(collection, [{ v: 1 }, { v: null }, { v: [] }]);
    expect((await collection.find().sort({ v: 1 }).toArray()).map((d) => d['_id'] as unknown)).toEqual([2, 1, 0]);
  });

  rule('a sort by several fields, with and without an index', async ({ collection }) => {
    await fill(
      collection,
      Array.from({ length: 60 }, (_, i) => ({ a: i % 3, b: (i * 7) % 5, c: i })),
    );
    const expected = (await collection.find().toArray())
      .sort((x, y) => Number(x['a']) - Number(y['a']) || Number(y['b']) - Number(x['b']) || Number(x['c']) - Number(y['c']))
      .map((d) => d['_id'] as unknown);
    const ids = async () => (await collection.find().sort({ a: 1, b: -1, c: 1 }).toArray()).map((d) => d['_id'] as unknown);
    expect(await ids()).toEqual(expected);
    await collection.createIndex({ a: -1, b: 1, c: -1 });
    expect(await ids()).toEqual(expected);
    expect((await collection.find().sort({ a: 1, b: -1, c: 1 }).skip(7).limit(11).toArray()).map((d) => d['_id'] as unknown)).toEqual(
      expected.slice(7, 18),
    );
  });

  rule('skip and limit cut a sorted result', async ({ collection }) => {
    await fill(
      collection,
      Array.from({ length: 20 }, (_, n) => ({ n })),
    );
    const found = await collection.find().sort({ n: -1 }).skip(5).limit(3).toArray();
    expect(found.map((d) => d['n'] as unknown)).toEqual([14, 13, 12]);
    expect(await collection.find().skip(50).toArray()).toEqual([]);
  });

  rule('a result comes in batches of the size asked for', async ({ db, collection }) => {
    await fill(
      collection,
      Array.from({ length: 250 }, (_, n) => ({ n })),
    );
    const found = await collection.find({}, { batchSize: 7 }).sort({ n: 1 }).toArray();
    expect(found.map((d) => d['n'] as unknown)).toEqual(Array.from({ length: 250 }, (_, n) => n));
    const opened = await db.command({ find: collection.collectionName, batchSize: 7 });
    expect((opened['cursor'] as { firstBatch: unknown[] }).firstBatch).toHaveLength(7);
  });

  rule('a result of more than 16 MiB comes whole', async ({ collection }) => {
    const text = 'x'.repeat(1_000_000);
    for (let i = 0; i < 24; i += 6) await collection.insertMany(Array.from({ length: 6 }, (_, k) => ({ n: i + k, text })));
    const found = await collection.find({}, { batchSize: 1000 }).toArray();
    expect(found.length).toBe(24);
    expect(found.every((document) => document['text'] === text)).toBe(true);
  });

  rule('a killed cursor is gone', async ({ db, collection }) => {
    await fill(
      collection,
      Array.from({ length: 20 }, (_, n) => ({ n })),
    );
    const opened = await db.command({ find: collection.collectionName, batchSize: 2 });
    const { id } = opened['cursor'] as { id: mongo.Long };
    expect(
      (await db.command({ killCursors: collection.collectionName, cursors: [mongo.Long.fromValue(id)] }))['cursorsKilled'],
    ).toHaveLength(1);
    expect((await failureOf(db.command({ getMore: mongo.Long.fromValue(id), collection: collection.collectionName }))).code).toBe(43);
  });

  rule('an unknown cursor is refused', async ({ db, collection }) => {
    await collection.insertOne({ a: 1 });
    expect((await failureOf(db.command({ getMore: Long.fromNumber(123456789), collection: collection.collectionName }))).code).toBe(43);
  });

  rule('a collection that does not exist is empty', async ({ collection }) => {
    expect(await collection.find({}).toArray()).toEqual([]);
    expect(await collection.countDocuments()).toBe(0);
    expect(await collection.estimatedDocumentCount()).toBe(0);
    expect(await collection.distinct('a')).toEqual([]);
    expect((await collection.deleteMany({})).deletedCount).toBe(0);
    expect((await collection.updateMany({}, { $set: { a: 1 } })).matchedCount).toBe(0);
  });

  rule('count obeys filter, skip and limit', async ({ collection }) => {
    await fill(
      collection,
      Array.from({ length: 10 }, (_, n) => ({ n })),
    );
    expect(await collection.estimatedDocumentCount()).toBe(10);
    expect(await collection.countDocuments({ n: { $gte: 4 } })).toBe(6);
    expect(await collection.countDocuments({ n: { $gte: 4 } }, { skip: 1, limit: 3 })).toBe(3);
  });

  rule('distinct answers each value once, elements of arrays too', async ({ collection }) => {
    await fill(collection, [{ a: 1 }, { a: [1, 2] }, { a: 'x' }, { a: 2.0 }, {}, { a: null }]);
    const values = await collection.distinct('a');
    expect(new Set(values)).toEqual(new Set([1, 2, 'x', null]));
    expect(values).toHaveLength(4);
    expect(await collection.distinct('a', { a: 'x' })).toEqual(['x']);
  });

  rule('distinct goes into documents of arrays', async ({ collection }) => {
    await fill(collection, [{ a: [{ b: 1 }, { b: 2 }] }, { a: { b: 3 } }]);
    expect((await collection.distinct('a.b')).sort()).toEqual([1, 2, 3]);
  });

  rule('a negative skip is refused', async ({ db, collection }) => {
    await collection.insertOne({ a: 1 });
    expect((await failureOf(db.command({ find: collection.collectionName, skip: -1 }))).code).toBe(51024);
  });
}
