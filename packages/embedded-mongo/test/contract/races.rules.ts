import { createConnection, type mongo, Schema } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, type Rule } from './store-contract.ts';

const JOBS = 300;
const WORKERS = 30;

export function raceRules(rule: Rule): void {
  rule('200 parallel upserts of one counter make 200', async ({ collection }) => {
    const counters = collection as unknown as mongo.Collection<{ _id: string; seq: number }>;
    const values = await Promise.all(
      Array.from({ length: 200 }, () =>
        retryDuplicate(() => counters.findOneAndUpdate({ _id: 'users' }, { $inc: { seq: 1 } }, { upsert: true, returnDocument: 'after' })),
      ),
    );
    expect(new Set(values.map((value) => value?.seq)).size).toBe(200);
    expect(await counters.findOne({ _id: 'users' })).toEqual({ _id: 'users', seq: 200 });
  });

  rule('300 jobs are claimed once each by 30 workers, the urgent ones first', async ({ collection }) => {
    await collection.createIndex({ state: 1, priority: -1, run_at: 1 });
    const past = Date.now() - 100_000;
    await collection.insertMany(
      Array.from({ length: JOBS }, (_, job) => ({ job, state: 'waiting', priority: job % 3, run_at: new Date(past + job), fence: 0 })),
    );
    await collection.insertOne({ job: -1, state: 'waiting', priority: 9, run_at: new Date(Date.now() + 600_000) });
    const claimed: { job: number; priority: number }[][] = await Promise.all(
      Array.from({ length: WORKERS }, async (_, worker) => {
        const mine: { job: number; priority: number }[] = [];
        for (;;) {
          const job = await collection.findOneAndUpdate(
            { state: 'waiting', run_at: { $lte: new Date() } },
            [{ $set: { state: 'running', worker, fence: { $add: ['$fence', 1] }, lease_until: { $add: ['$$NOW', 6000] } } }],
            { sort: { priority: -1, run_at: 1 }, returnDocument: 'after' },
          );
          if (!job) return mine;
          mine.push({ job: Number(job['job']), priority: Number(job['priority']) });
        }
      }),
    );
    expect(
      claimed
        .flat()
        .map(({ job }) => job)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: JOBS }, (_, job) => job));
    for (const mine of claimed)
      expect(mine.map(({ priority }) => priority)).toEqual(mine.map(({ priority }) => priority).sort((a, b) => b - a));
    expect(await collection.countDocuments({ state: 'running', fence: 1 })).toBe(JOBS);
  });

  rule('a compare-and-set succeeds once', async ({ collection }) => {
    await collection.insertOne({ k: 1, revision: 1 });
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, by) => collection.updateOne({ k: 1, revision: 1 }, { $set: { by }, $inc: { revision: 1 } })),
    );
    expect(results.reduce((sum, { modifiedCount }) => sum + modifiedCount, 0)).toBe(1);
  });

  rule('mongoose saves, validates its versions and finds again', async ({ db, collection, url }) => {
    const connection = await createConnection(url, { dbName: db.databaseName }).asPromise();
    try {
      const schema = new Schema(
        {
          name: { type: String, required: true, unique: true },
          tags: [String],
          nested: { list: [{ n: Number }] },
          meta: { type: Map, of: String },
        },
        { optimisticConcurrency: true, timestamps: true, collection: collection.collectionName },
      );
      const Thing = connection.model('Thing', schema);
      await Thing.init();
      const made = await Thing.create({ name: 'one', tags: ['a'], nested: { list: [{ n: 1 }] }, meta: new Map([['k', 'v']]) });
      const other = await Thing.findOne({ name: 'one' });
      made.tags.push('b');
      await made.save();
      if (!other) throw new Error('not found');
      other.tags.push('c');
      await expect(other.save()).rejects.toMatchObject({ name: 'VersionError' });
      expect((await failureOf(Thing.create({ name: 'one' }))).code).toBe(11000);
      const found = await Thing.findOneAndUpdate(
        { name: 'one' },
        { $push: { 'nested.list': { n: 2 } } },
        { returnDocument: 'after' },
      ).lean();
      expect(found?.nested?.list.map(({ n }) => n)).toEqual([1, 2]);
      expect(found?.tags).toEqual(['a', 'b']);
      expect(await Thing.countDocuments({ tags: 'b' })).toBe(1);
      expect(await Thing.exists({ name: 'two' })).toBeNull();
      expect(
        (
          await Thing.find({ 'nested.list.n': { $gt: 1 } })
            .select('name -_id')
            .lean()
        )[0],
      ).toEqual({ name: 'one' });
      await Thing.bulkWrite([{ updateOne: { filter: { name: 'two' }, update: { $set: { tags: [] } }, upsert: true } }]);
      expect(await Thing.find().sort('name').distinct('name')).toEqual(['one', 'two']);
      expect(await Thing.aggregate([{ $group: { _id: null, n: { $sum: 1 } } }])).toEqual([{ _id: null, n: 2 }]);
      const seen: string[] = [];
      for await (const thing of Thing.find().sort({ name: 1 }).cursor({ batchSize: 1 })) seen.push(thing.name);
      expect(seen).toEqual(['one', 'two']);
    } finally {
      await connection.close();
    }
  });
}

/** Two upserts that both find nothing may both insert: an engine may let the second fail with a duplicate key, and it is to be tried again. */
async function retryDuplicate<T>(action: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await action();
    } catch (error) {
      if (tries > 20 || !(error instanceof Error && 'code' in error && error.code === 11000)) throw error;
    }
  }
}
