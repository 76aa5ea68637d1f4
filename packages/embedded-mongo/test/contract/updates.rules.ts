import { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, type Rule } from './store-contract.ts';

const { Double, Int32, Long } = mongo;

interface UpdateCase {
  readonly title: string;
  readonly before: mongo.Document;
  readonly update: mongo.Document | mongo.Document[];
  readonly after: mongo.Document;
}

const CASES: readonly UpdateCase[] = [
  { title: '$set sets fields, nested ones too', before: { a: 1 }, update: { $set: { a: 2, 'b.c': 3 } }, after: { a: 2, b: { c: 3 } } },
  { title: '$set of an array index pads with null', before: { a: [1] }, update: { $set: { 'a.3': 4 } }, after: { a: [1, null, null, 4] } },
  {
    title: '$set goes through an array by index',
    before: { a: [{ b: 1 }, { b: 2 }] },
    update: { $set: { 'a.1.b': 9 } },
    after: { a: [{ b: 1 }, { b: 9 }] },
  },
  { title: '$set makes documents of numeric names', before: {}, update: { $set: { 'a.0': 1 } }, after: { a: { 0: 1 } } },
  {
    title: '$unset removes a field',
    before: { a: 1, b: { c: 1, d: 2 } },
    update: { $unset: { a: '', 'b.c': '', nothing: '' } },
    after: { b: { d: 2 } },
  },
  {
    title: '$unset of an array element leaves null',
    before: { a: [1, 2, 3] },
    update: { $unset: { 'a.1': '' } },
    after: { a: [1, null, 3] },
  },
  {
    title: '$inc adds, and sets where nothing is',
    before: { a: 1 },
    update: { $inc: { a: 2, b: 5, 'c.d': -1 } },
    after: { a: 3, b: 5, c: { d: -1 } },
  },
  { title: '$mul multiplies, and sets zero where nothing is', before: { a: 3 }, update: { $mul: { a: 2, b: 5 } }, after: { a: 6, b: 0 } },
  { title: '$min keeps the lesser', before: { a: 3, b: 3 }, update: { $min: { a: 2, b: 5, c: 1 } }, after: { a: 2, b: 3, c: 1 } },
  {
    title: '$max keeps the greater, over types in BSON order',
    before: { a: 3, b: 3 },
    update: { $max: { a: 'x', b: null, c: 1 } },
    after: { a: 'x', b: 3, c: 1 },
  },
  { title: '$push appends and makes the array', before: { a: [1] }, update: { $push: { a: [2], b: 3 } }, after: { a: [1, [2]], b: [3] } },
  { title: '$push with $each', before: { a: [1] }, update: { $push: { a: { $each: [2, 3] } } }, after: { a: [1, 2, 3] } },
  {
    title: '$push with $position',
    before: { a: [1, 4] },
    update: { $push: { a: { $each: [2, 3], $position: 1 } } },
    after: { a: [1, 2, 3, 4] },
  },
  {
    title: '$push with a negative $position',
    before: { a: [1, 4] },
    update: { $push: { a: { $each: [2, 3], $position: -1 } } },
    after: { a: [1, 2, 3, 4] },
  },
  {
    title: '$push with $slice keeps the first',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3, 4], $slice: 3 } } },
    after: { a: [1, 2, 3] },
  },
  {
    title: '$push with a negative $slice keeps the last',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3, 4], $slice: -3 } } },
    after: { a: [2, 3, 4] },
  },
  { title: '$push with $slice 0 empties', before: { a: [1, 2] }, update: { $push: { a: { $each: [3], $slice: 0 } } }, after: { a: [] } },
  { title: '$push with $sort', before: { a: [3, 1] }, update: { $push: { a: { $each: [2], $sort: -1 } } }, after: { a: [3, 2, 1] } },
  {
    title: '$push with $sort by a field, then $slice',
    before: { a: [{ n: 3 }, { n: 1 }] },
    update: { $push: { a: { $each: [{ n: 2 }], $sort: { n: 1 }, $slice: 2 } } },
    after: { a: [{ n: 1 }, { n: 2 }] },
  },
  {
    title: '$addToSet adds what is not there',
    before: { a: [1, { b: 1 }] },
    update: { $addToSet: { a: { b: 1 } } },
    after: { a: [1, { b: 1 }] },
  },
  {
    title: '$addToSet with $each adds each once',
    before: { a: [1] },
    update: { $addToSet: { a: { $each: [1, 2, 2] }, b: 'x' } },
    after: { a: [1, 2], b: ['x'] },
  },
  { title: '$pull removes equal elements', before: { a: [1, 2, 1, 3] }, update: { $pull: { a: 1 } }, after: { a: [2, 3] } },
  { title: '$pull with operators', before: { a: [1, 5, 9] }, update: { $pull: { a: { $gte: 5 } } }, after: { a: [1] } },
  {
    title: '$pull with a condition on documents',
    before: { a: [{ b: 1, c: 1 }, { b: 2 }, 1] },
    update: { $pull: { a: { b: 1 } } },
    after: { a: [{ b: 2 }, 1] },
  },
  { title: '$pull with $in', before: { a: ['x', 'y', 'z'] }, update: { $pull: { a: { $in: ['x', 'z'] } } }, after: { a: ['y'] } },
  { title: '$pullAll removes each', before: { a: [1, 2, 3, 1] }, update: { $pullAll: { a: [1, 3] } }, after: { a: [2] } },
  { title: '$pop 1 removes the last', before: { a: [1, 2] }, update: { $pop: { a: 1 } }, after: { a: [1] } },
  { title: '$pop -1 removes the first', before: { a: [1, 2] }, update: { $pop: { a: -1 } }, after: { a: [2] } },
  { title: '$rename moves a field', before: { a: 1, b: 2 }, update: { $rename: { a: 'c.d' } }, after: { b: 2, c: { d: 1 } } },
  { title: '$rename replaces its target', before: { a: 1, b: 2 }, update: { $rename: { a: 'b' } }, after: { b: 1 } },
  { title: '$rename of a missing field does nothing', before: { b: 2 }, update: { $rename: { a: 'b' } }, after: { b: 2 } },
  {
    title: '$setOnInsert does nothing on a match',
    before: { a: 1 },
    update: { $setOnInsert: { b: 1 }, $set: { c: 1 } },
    after: { a: 1, c: 1 },
  },
  {
    title: 'several operators work on one document',
    before: { a: 1, b: [1], c: 1 },
    update: { $inc: { a: 1 }, $push: { b: 2 }, $unset: { c: 1 }, $set: { d: 4 } },
    after: { a: 2, b: [1, 2], d: 4 },
  },
  {
    title: 'a pipeline sets fields from fields',
    before: { a: 2, b: 3 },
    update: [{ $set: { sum: { $add: ['$a', '$b', 1] }, 'n.diff': { $subtract: ['$a', '$b'] } } }],
    after: { a: 2, b: 3, sum: 6, n: { diff: -1 } },
  },
  {
    title: 'a pipeline chooses with $cond and comparisons',
    before: { a: 2, b: 3 },
    update: [
      {
        $set: {
          r: { $cond: [{ $and: [{ $lt: ['$a', '$b'] }, { $not: [{ $eq: ['$a', 5] }] }] }, 'less', 'more'] },
          // biome-ignore lint/suspicious/noThenProperty: the operator's field is called so.
          s: { $cond: { if: { $gte: ['$a', '$b'] }, then: 1, else: 2 } },
        },
      },
    ],
    after: { a: 2, b: 3, r: 'less', s: 2 },
  },
  {
    title: 'a pipeline fills gaps with $ifNull',
    before: { a: null },
    update: [{ $set: { a: { $ifNull: ['$a', '$missing', 7] }, b: { $ifNull: ['$missing', 'x'] } } }],
    after: { a: 7, b: 'x' },
  },
  {
    title: 'a pipeline knows $max, $min and $concat',
    before: { a: 2, b: 3, s: 'x' },
    update: [{ $set: { max: { $max: ['$a', '$b'] }, min: { $min: ['$a', '$b', null] }, s: { $concat: ['$s', '-', 'y'] } } }],
    after: { a: 2, b: 3, s: 'x-y', max: 3, min: 2 },
  },
  {
    title: 'a pipeline takes literals',
    before: {},
    update: [{ $set: { a: { $literal: '$b' }, c: { d: 1 } } }],
    after: { a: '$b', c: { d: 1 } },
  },
  {
    title: 'a pipeline removes fields with $unset and $$REMOVE',
    before: { a: 1, b: 1, c: { d: 1, e: 1 } },
    update: [{ $unset: ['a', 'c.d'] }, { $set: { b: '$$REMOVE' } }],
    after: { c: { e: 1 } },
  },
  { title: 'a pipeline replaces the document', before: { a: { x: 1 } }, update: [{ $replaceWith: { y: '$a.x' } }], after: { y: 1 } },
  {
    title: '$or and $ne in a pipeline',
    before: { a: 1 },
    update: [{ $set: { r: { $or: [{ $ne: ['$a', 1] }, { $gt: ['$a', 0] }, { $lte: ['$a', -5] }] } } }],
    after: { a: 1, r: true },
  },
];

interface RefusedCase {
  readonly title: string;
  readonly before: mongo.Document;
  readonly update: mongo.Document | mongo.Document[];
  readonly code: number;
}

const REFUSED: readonly RefusedCase[] = [
  { title: 'an unknown modifier is refused', before: {}, update: { $shout: { a: 1 } }, code: 9 },
  { title: 'two changes of one path conflict', before: {}, update: { $set: { a: 1 }, $inc: { a: 1 } }, code: 40 },
  { title: 'a change inside another conflicts', before: {}, update: { $set: { a: 1, 'a.b': 1 } }, code: 40 },
  { title: 'the _id cannot be changed', before: {}, update: { $set: { _id: 99 } }, code: 66 },
  { title: '$inc of text is refused', before: { a: 'x' }, update: { $inc: { a: 1 } }, code: 14 },
  { title: '$inc by text is refused', before: { a: 1 }, update: { $inc: { a: 'x' } }, code: 14 },
  { title: '$push to a scalar is refused', before: { a: 1 }, update: { $push: { a: 1 } }, code: 2 },
  { title: '$addToSet to a scalar is refused', before: { a: 1 }, update: { $addToSet: { a: 1 } }, code: 2 },
  { title: '$pull from a scalar is refused', before: { a: 1 }, update: { $pull: { a: 1 } }, code: 2 },
  { title: '$pop from a scalar is refused', before: { a: 1 }, update: { $pop: { a: 1 } }, code: 14 },
  { title: '$pop by 2 is refused', before: { a: [1] }, update: { $pop: { a: 2 } }, code: 9 },
  { title: 'a field inside a scalar is not viable', before: { a: 1 }, update: { $set: { 'a.b': 1 } }, code: 28 },
  { title: 'a named field inside an array is not viable', before: { a: [1] }, update: { $set: { 'a.b': 1 } }, code: 28 },
  { title: 'a dollar field is not set', before: {}, update: { $set: { 'a.$b': 1 } }, code: 52 },
  { title: 'an empty part of a path is refused', before: {}, update: { $set: { 'a..b': 1 } }, code: 56 },
  { title: 'an operand that is no document is refused', before: {}, update: { $set: 5 }, code: 9 },
  { title: 'a pipeline takes no $match', before: {}, update: [{ $match: {} }], code: 72 },
  { title: 'an unknown expression is refused', before: {}, update: [{ $set: { a: { $shout: 1 } } }], code: 168 },
  { title: 'an unknown variable is refused', before: {}, update: [{ $set: { a: '$$nobody' } }], code: 17276 },
  { title: 'a wrong number of arguments is refused', before: {}, update: [{ $set: { a: { $subtract: [1] } } }], code: 16020 },
];

type TestDocument = mongo.Document & { _id: number };

export function updateRules(rule: Rule): void {
  for (const { title, before, update, after } of CASES) {
    rule(title, async ({ collection }) => {
      await collection.insertOne({ _id: 1, ...before } as unknown as mongo.OptionalId<mongo.Document>);
      const result = await collection.updateOne({}, update);
      expect(await collection.findOne()).toEqual({ _id: 1, ...after });
      const isChanged = JSON.stringify(before) !== JSON.stringify(after);
      expect(result).toMatchObject({ matchedCount: 1, modifiedCount: isChanged ? 1 : 0, upsertedCount: 0 });
    });
  }
  for (const { title, before, update, code } of REFUSED) {
    rule(title, async ({ collection }) => {
      await collection.insertOne({ _id: 1, ...before } as unknown as mongo.OptionalId<mongo.Document>);
      expect((await failureOf(collection.updateOne({}, update))).code).toBe(code);
      expect(await collection.findOne()).toEqual({ _id: 1, ...before });
    });
  }

  rule('numbers keep, and widen, their types in $inc', async ({ db, collection }) => {
    const raw = db.collection(collection.collectionName, { promoteValues: false });
    await collection.insertOne({ a: new Int32(1), b: new Int32(2147483647), c: Long.fromNumber(1), d: new Int32(1) });
    await collection.updateOne({}, { $inc: { a: new Int32(1), b: new Int32(1), c: new Int32(1), d: new Double(0.5) } });
    expect(await raw.findOne({}, { projection: { _id: 0 } })).toEqual({
      a: new Int32(2),
      b: Long.fromString('2147483648'),
      c: Long.fromNumber(2),
      d: new Double(1.5),
    });
  });

  rule('$inc beyond 64 bits is refused', async ({ collection }) => {
    await collection.insertOne({ a: Long.MAX_VALUE });
    expect((await failureOf(collection.updateOne({}, { $inc: { a: 1 } }))).code).toBe(2);
  });

  rule('$currentDate sets the time of the store', async ({ collection }) => {
    await collection.insertOne({ a: 1 });
    const earliest = Date.now() - 60_000;
    await collection.updateOne({}, { $currentDate: { at: true, 'b.at': { $type: 'date' } } as mongo.MatchKeysAndValues<mongo.Document> });
    const found = await collection.findOne();
    expect(found?.['at']).toBeInstanceOf(Date);
    expect(Number(found?.['at'])).toBeGreaterThan(earliest);
    expect(found?.['b']).toEqual({ at: found?.['at'] });
  });

  rule('$$NOW is the time of the store, the same all over a statement', async ({ collection }) => {
    await collection.insertOne({ a: 1 });
    await collection.updateOne({}, [{ $set: { at: '$$NOW', until: { $add: ['$$NOW', 5000] } } }]);
    const found = await collection.findOne();
    expect(Number(found?.['until']) - Number(found?.['at'])).toBe(5000);
    expect(Math.abs(Number(found?.['at']) - Date.now())).toBeLessThan(60_000);
  });

  rule('an update of nothing new matches and modifies nothing', async ({ collection }) => {
    await collection.insertOne({ a: 1 });
    expect(await collection.updateOne({}, { $set: { a: 1 } })).toMatchObject({ matchedCount: 1, modifiedCount: 0 });
  });

  rule('updateMany changes all that match', async ({ collection }) => {
    await collection.insertMany([{ a: 1 }, { a: 1 }, { a: 2 }]);
    expect(await collection.updateMany({ a: 1 }, { $inc: { a: 1 } })).toMatchObject({ matchedCount: 2, modifiedCount: 2 });
    expect(await collection.countDocuments({ a: 2 })).toBe(3);
  });

  rule('updateMany over its own index meets each document once', async ({ collection }) => {
    await collection.createIndex({ a: 1 });
    await collection.insertMany(Array.from({ length: 300 }, (_, a) => ({ a })));
    expect((await collection.updateMany({ a: { $gte: 0 } }, { $inc: { a: 150 } })).modifiedCount).toBe(300);
    expect(await collection.countDocuments({ a: { $gte: 300 } })).toBe(150);
  });

  rule('a replacement keeps the _id and drops the rest', async ({ collection }) => {
    await collection.insertOne({ _id: 1, a: 1, b: 2 } as unknown as mongo.OptionalId<mongo.Document>);
    await collection.replaceOne({ a: 1 }, { c: 3 });
    expect(await collection.findOne()).toEqual({ _id: 1, c: 3 });
    expect((await failureOf(collection.replaceOne({}, { _id: 2, c: 3 }))).code).toBe(66);
  });

  rule('an upsert starts from the equalities of its filter', async ({ collection }) => {
    const result = await collection.updateOne(
      { a: 1, 'b.c': { $eq: 2 }, $and: [{ d: 3 }], e: { $gt: 5 } },
      { $set: { x: 1 }, $setOnInsert: { y: 2 } },
      { upsert: true },
    );
    expect(result).toMatchObject({ matchedCount: 0, modifiedCount: 0, upsertedCount: 1 });
    expect(await collection.findOne({}, { projection: { _id: 0 } })).toEqual({
      a: 1,
      b: { c: 2 },
      d: 3,
      x: 1,
      y: 2,
    });
  });

  rule('an upsert takes the _id of its filter', async ({ collection }) => {
    const numbered = collection as unknown as mongo.Collection<TestDocument>;
    expect((await numbered.updateOne({ _id: 7 }, { $inc: { n: 1 } }, { upsert: true })).upsertedId).toBe(7);
    expect(await numbered.findOne()).toEqual({ _id: 7, n: 1 });
  });

  rule('a replacement by upsert takes the _id only', async ({ collection }) => {
    const numbered = collection as unknown as mongo.Collection<TestDocument>;
    await numbered.replaceOne({ _id: 3, a: 5 }, { b: 1 }, { upsert: true });
    expect(await numbered.findOne()).toEqual({ _id: 3, b: 1 });
  });

  rule('an upsert by a pipeline works', async ({ collection }) => {
    await collection.updateOne({ k: 'a' }, [{ $set: { n: { $add: [{ $ifNull: ['$n', 0] }, 1] } } }], { upsert: true });
    await collection.updateOne({ k: 'a' }, [{ $set: { n: { $add: [{ $ifNull: ['$n', 0] }, 1] } } }], { upsert: true });
    expect(await collection.find({}, { projection: { _id: 0 } }).toArray()).toEqual([{ k: 'a', n: 2 }]);
  });

  rule('an upsert from a path that is matched twice is refused', async ({ collection }) => {
    const failure = await failureOf(collection.updateOne({ a: 1, $and: [{ a: 2 }] }, { $set: { b: 1 } }, { upsert: true }));
    expect(failure.code).toBe(54);
  });

  rule('findOneAndUpdate answers the document before, or after', async ({ collection }) => {
    await collection.insertOne({ k: 1, n: 1 });
    expect(await collection.findOneAndUpdate({ k: 1 }, { $inc: { n: 1 } })).toMatchObject({ n: 1 });
    expect(
      await collection.findOneAndUpdate({ k: 1 }, { $inc: { n: 1 } }, { returnDocument: 'after', projection: { _id: 0, n: 1 } }),
    ).toEqual({ n: 3 });
    expect(await collection.findOneAndUpdate({ k: 2 }, { $inc: { n: 1 } })).toBeNull();
  });

  rule('findOneAndUpdate takes the first by its sort', async ({ collection }) => {
    await collection.insertMany([{ n: 2 }, { n: 1 }, { n: 3 }]);
    expect(await collection.findOneAndUpdate({}, { $set: { taken: true } }, { sort: { n: -1 } })).toMatchObject({ n: 3 });
    expect(await collection.findOneAndDelete({}, { sort: { n: 1 } })).toMatchObject({ n: 1 });
    expect(await collection.countDocuments()).toBe(2);
  });

  rule('findOneAndUpdate by upsert answers null before and the document after', async ({ collection }) => {
    expect(await collection.findOneAndUpdate({ k: 1 }, { $inc: { n: 1 } }, { upsert: true })).toBeNull();
    expect(await collection.findOneAndUpdate({ k: 2 }, { $inc: { n: 1 } }, { upsert: true, returnDocument: 'after' })).toMatchObject({
      k: 2,
      n: 1,
    });
    const meta = await collection.findOneAndUpdate({ k: 3 }, { $inc: { n: 1 } }, { upsert: true, includeResultMetadata: true });
    expect(meta.lastErrorObject).toMatchObject({ n: 1, updatedExisting: false });
    expect(meta.lastErrorObject?.['upserted']).toBeDefined();
  });

  rule('findOneAndReplace replaces', async ({ collection }) => {
    await collection.insertOne({ k: 1, n: 1 });
    expect(await collection.findOneAndReplace({ k: 1 }, { m: 2 }, { returnDocument: 'after', projection: { _id: 0 } })).toEqual({ m: 2 });
  });

  rule('a document that grows beyond 16 MiB is refused', async ({ collection }) => {
    await collection.insertOne({ k: 1, text: 'x'.repeat(9_000_000) });
    const failure = await failureOf(collection.updateOne({ k: 1 }, { $set: { more: 'x'.repeat(9_000_000) } }));
    expect([10334, 17419, 17420]).toContain(failure.code);
  });
}
