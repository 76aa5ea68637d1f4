import { setTimeout as delay } from 'node:timers/promises';
import type { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, fill, idsOf, type Rule } from './store-contract.ts';

export function indexRules(rule: Rule): void {
  rule('a unique index refuses a second document of the same value', async ({ collection }) => {
    await collection.createIndex({ name: 1 }, { unique: true });
    await collection.insertOne({ name: 'x' });
    const failure = await failureOf(collection.insertOne({ name: 'x' }));
    expect(failure.code).toBe(11000);
    expect(failure).toMatchObject({ keyPattern: { name: 1 }, keyValue: { name: 'x' } });
    expect(await collection.countDocuments()).toBe(1);
  });

  rule('a unique index takes equal numbers of different types for one value', async ({ collection }) => {
    await collection.createIndex({ n: 1 }, { unique: true });
    await collection.insertOne({ n: 5 });
    const { Double, Long } = (await import('mongoose')).mongo;
    expect((await failureOf(collection.insertOne({ n: Long.fromNumber(5) }))).code).toBe(11000);
    expect((await failureOf(collection.insertOne({ n: new Double(5) }))).code).toBe(11000);
  });

  rule('an _id is unique over number types', async ({ collection }) => {
    const { Double } = (await import('mongoose')).mongo;
    await fill(collection, [{}]);
    const failure = await failureOf(collection.insertOne({ _id: new Double(0) } as unknown as mongo.OptionalId<mongo.Document>));
    expect(failure.code).toBe(11000);
    expect(failure['keyPattern']).toEqual({ _id: 1 });
  });

  rule('a unique index takes one document without the field, not two', async ({ collection }) => {
    await collection.createIndex({ name: 1 }, { unique: true });
    await collection.insertOne({ a: 1 });
    expect((await failureOf(collection.insertOne({ a: 2 }))).code).toBe(11000);
    expect((await failureOf(collection.insertOne({ name: null }))).code).toBe(11000);
  });

  rule('a unique sparse index takes many documents without the field', async ({ collection }) => {
    await collection.createIndex({ name: 1 }, { unique: true, sparse: true });
    await collection.insertMany([{ a: 1 }, { a: 2 }, { name: 'x' }]);
    expect((await failureOf(collection.insertOne({ name: 'x' }))).code).toBe(11000);
    expect(await collection.countDocuments({ name: { $exists: false } })).toBe(2);
    expect((await collection.find().sort({ name: 1 }).toArray()).length).toBe(3);
  });

  rule('a unique partial index binds only what its filter matches', async ({ collection }) => {
    await collection.createIndex({ name: 1 }, { unique: true, partialFilterExpression: { active: true } });
    await collection.insertMany([{ name: 'x', active: true }, { name: 'x', active: false }, { name: 'x' }]);
    expect((await failureOf(collection.insertOne({ name: 'x', active: true }))).code).toBe(11000);
    expect((await failureOf(collection.updateOne({ active: false }, { $set: { active: true } }))).code).toBe(11000);
    expect(await collection.countDocuments({ name: 'x' })).toBe(3);
    expect(await collection.countDocuments({ name: 'x', active: true })).toBe(1);
  });

  rule('a partial index by $exists and a range is used correctly', async ({ collection }) => {
    await collection.createIndex({ n: 1 }, { partialFilterExpression: { n: { $gt: 10 } } });
    await fill(collection, [{ n: 5 }, { n: 15 }, { n: 25 }, {}]);
    expect(await idsOf(collection, { n: { $gte: 5 } })).toEqual([0, 1, 2]);
    expect(await idsOf(collection, { n: { $gt: 12 } })).toEqual([1, 2]);
    expect(await idsOf(collection, { n: 15 })).toEqual([1]);
  });

  rule('a compound unique index binds the combination', async ({ collection }) => {
    await collection.createIndex({ a: 1, b: -1 }, { unique: true });
    await collection.insertMany([
      { a: 1, b: 1 },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
    ]);
    const failure = await failureOf(collection.insertOne({ a: 1, b: 2 }));
    expect(failure).toMatchObject({ code: 11000, keyPattern: { a: 1, b: -1 }, keyValue: { a: 1, b: 2 } });
  });

  rule('a unique index over an array binds each element', async ({ collection }) => {
    await collection.createIndex({ tags: 1 }, { unique: true });
    await collection.insertOne({ tags: ['a', 'a', 'b'] });
    expect((await failureOf(collection.insertOne({ tags: ['c', 'b'] }))).code).toBe(11000);
    await collection.insertOne({ tags: ['c'] });
  });

  rule('a unique index is not made over duplicates', async ({ collection }) => {
    await fill(collection, [{ n: 1 }, { n: 1 }]);
    expect((await failureOf(collection.createIndex({ n: 1 }, { unique: true }))).code).toBe(11000);
    expect(await collection.indexes()).toHaveLength(1);
    await collection.deleteOne({ _id: 1 } as mongo.Document);
    await collection.createIndex({ n: 1 }, { unique: true });
  });

  rule('an update that would break a unique index changes nothing', async ({ collection }) => {
    await collection.createIndex({ n: 1 }, { unique: true });
    await fill(collection, [{ n: 1 }, { n: 2 }]);
    expect((await failureOf(collection.updateOne({ n: 2 }, { $set: { n: 1 } }))).code).toBe(11000);
    expect(await idsOf(collection, { n: 2 })).toEqual([1]);
    await collection.updateOne({ n: 2 }, { $set: { n: 3 } });
    expect(await idsOf(collection, { n: 3 })).toEqual([1]);
    expect(await idsOf(collection, { n: 2 })).toEqual([]);
  });

  rule('a value that was freed can be taken again', async ({ collection }) => {
    await collection.createIndex({ n: 1 }, { unique: true });
    await fill(collection, [{ n: 1 }]);
    await collection.deleteOne({ n: 1 });
    await collection.insertOne({ n: 1 });
  });

  rule('two arrays in one index are refused', async ({ collection }) => {
    await collection.createIndex({ a: 1, b: 1 });
    expect((await failureOf(collection.insertOne({ a: [1], b: [2] }))).code).toBe(171);
    await collection.insertOne({ a: [1, 2], b: 3 });
    expect(await collection.countDocuments({ a: 2, b: 3 })).toBe(1);
  });

  rule('indexes are listed and dropped by name and by key', async ({ db, collection }) => {
    await collection.createIndex({ a: 1 });
    await collection.createIndex({ b: -1 }, { name: 'by_b', unique: true, sparse: true });
    await collection.createIndex({ c: 1 }, { expireAfterSeconds: 60 });
    const listed = await collection.indexes();
    expect(listed.map(({ name }) => name)).toEqual(['_id_', 'a_1', 'by_b', 'c_1']);
    expect(listed[2]).toMatchObject({ key: { b: -1 }, unique: true, sparse: true });
    expect(listed[3]).toMatchObject({ expireAfterSeconds: 60 });
    await collection.dropIndex('a_1');
    await db.command({ dropIndexes: collection.collectionName, index: { b: -1 } });
    expect((await collection.indexes()).map(({ name }) => name)).toEqual(['_id_', 'c_1']);
    expect((await failureOf(collection.dropIndex('a_1'))).code).toBe(27);
    expect((await failureOf(collection.dropIndex('_id_'))).code).toBe(72);
    await collection.dropIndexes();
    expect(await collection.indexes()).toHaveLength(1);
  });

  rule('the same index may be made again, another of its name may not', async ({ collection }) => {
    await collection.createIndex({ a: 1 });
    await collection.createIndex({ a: 1 });
    expect((await failureOf(collection.createIndex({ b: 1 }, { name: 'a_1' }))).code).toBe(86);
    expect([85, 86]).toContain((await failureOf(collection.createIndex({ a: 1 }, { unique: true }))).code);
    expect((await failureOf(collection.createIndex({ a: 1 }, { name: 'other' }))).code).toBe(85);
  });

  rule('an index of an unknown kind is refused', async ({ collection }) => {
    expect((await failureOf(collection.createIndex({ a: 'unknown' } as unknown as mongo.IndexSpecification))).code).toBe(67);
  });

  rule('listing the indexes of a missing collection is refused', async ({ collection }) => {
    expect((await failureOf(collection.indexes())).code).toBe(26);
  });

  rule('documents expire by a TTL index', async ({ collection }) => {
    await collection.createIndex({ at: 1 }, { expireAfterSeconds: 1 });
    const past = new Date(Date.now() - 60_000);
    await fill(collection, [
      { at: past },
      { at: new Date(Date.now() + 600_000) },
      { at: 'no date' },
      {},
      { at: [new Date(Date.now() + 600_000), past] },
    ]);
    // An engine's reaper runs once a minute at the least.
    const deadline = Date.now() + 75_000;
    while ((await collection.countDocuments()) > 3 && Date.now() < deadline) await delay(200);
    expect(await idsOf(collection, {})).toEqual([1, 2, 3]);
  });
}
