import { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, fill, type Rule } from './store-contract.ts';

const { BSON, Int32, Long } = mongo;

export function commandRules(rule: Rule): void {
  rule('the handshake describes a standalone primary', async ({ db }) => {
    const hello = await db.admin().command({ hello: 1 });
    expect(hello).toMatchObject({ isWritablePrimary: true, maxWireVersion: 21, maxBsonObjectSize: 16_777_216, readOnly: false });
    expect(hello['setName']).toBeUndefined();
    expect(await db.command({ ping: 1 })).toMatchObject({ ok: 1 });
    expect((await db.admin().buildInfo())['version']).toMatch(/^7\./);
    expect(await db.admin().command({ connectionStatus: 1 })).toMatchObject({ ok: 1 });
    expect(await db.admin().command({ serverStatus: 1 })).toMatchObject({ ok: 1 });
    expect(await db.admin().command({ getParameter: 1, featureCompatibilityVersion: 1 })).toMatchObject({ ok: 1 });
  });

  rule('an unknown command is refused', async ({ db }) => {
    expect((await failureOf(db.command({ shout: 1 }))).code).toBe(59);
  });

  rule('an unknown field of a command is refused', async ({ db, collection }) => {
    expect((await failureOf(db.command({ find: collection.collectionName, shout: 1 }))).code).toBe(40415);
  });

  rule('values come back with their types', async ({ db, collection }) => {
    const raw = db.collection(collection.collectionName, { promoteValues: false });
    const document = {
      int: new Int32(5),
      double: new mongo.Double(5),
      long: Long.fromNumber(5),
      big: Long.MAX_VALUE,
      text: 'ä\u0000€\u{1F600}',
      flag: true,
      nothing: null,
      date: new Date(1234567890123),
      id: new mongo.ObjectId(),
      binary: new mongo.Binary(Buffer.from([0, 1, 255])),
      uuid: new mongo.UUID(),
      list: [new Int32(1), [new mongo.Double(2)], { a: null }],
      nested: { z: new Int32(1), a: new Int32(2) },
    };
    await raw.insertOne(document as mongo.OptionalId<mongo.Document>);
    const found = await raw.findOne({}, { projection: { _id: 0 } });
    const { _id: _made, ...expected } = document as mongo.Document;
    expect(BSON.serialize(found ?? {})).toEqual(BSON.serialize(expected));
  });

  rule('an insert without an _id gets one', async ({ db, collection }) => {
    await db.command({ insert: collection.collectionName, documents: [{ a: 1 }] });
    expect((await collection.findOne())?.['_id']).toBeInstanceOf(mongo.ObjectId);
  });

  rule('the _id comes first, wherever it was given', async ({ collection }) => {
    await collection.insertOne({ a: 1, _id: 5 } as unknown as mongo.OptionalId<mongo.Document>);
    expect(Object.keys((await collection.findOne()) ?? {})).toEqual(['_id', 'a']);
  });

  rule('an array is no _id', async ({ collection }) => {
    expect((await failureOf(collection.insertOne({ _id: [1] } as unknown as mongo.OptionalId<mongo.Document>))).code).toBe(53);
  });

  rule('an ordered insert stops at the first error, an unordered one goes on', async ({ collection }) => {
    const documents = [{ _id: 1 }, { _id: 1 }, { _id: 2 }] as unknown as mongo.OptionalId<mongo.Document>[];
    const ordered = await failureOf(collection.insertMany(documents));
    expect(ordered.code).toBe(11000);
    expect(await collection.countDocuments()).toBe(1);
    const more = [{ _id: 1 }, { _id: 3 }, { _id: 4 }] as unknown as mongo.OptionalId<mongo.Document>[];
    expect((await failureOf(collection.insertMany(more, { ordered: false }))).code).toBe(11000);
    expect(await collection.countDocuments()).toBe(3);
  });

  rule('a bulk write answers its counts and errors by index', async ({ collection }) => {
    await fill(collection, [{ n: 1 }, { n: 2 }]);
    const failure = await failureOf(
      collection.bulkWrite(
        [
          { insertOne: { document: { _id: 0 } as unknown as mongo.OptionalId<mongo.Document> } },
          { updateOne: { filter: { n: 1 }, update: { $set: { m: 1 } } } },
          { updateMany: { filter: {}, update: { $inc: { k: 1 } } } },
          { deleteOne: { filter: { n: 2 } } },
          { updateOne: { filter: { n: 9 }, update: { $set: { m: 1 } }, upsert: true } },
        ],
        { ordered: false },
      ),
    );
    if (!(failure instanceof mongo.MongoBulkWriteError)) throw failure;
    expect(failure.result).toMatchObject({ insertedCount: 0, matchedCount: 3, deletedCount: 1, upsertedCount: 1 });
    expect([failure.writeErrors].flat().map(({ index, code }) => ({ index, code }))).toEqual([{ index: 0, code: 11000 }]);
  });

  rule('deleteOne removes one, deleteMany all that match', async ({ collection }) => {
    await fill(collection, [{ a: 1 }, { a: 1 }, { a: 1 }, { a: 2 }]);
    expect((await collection.deleteOne({ a: 1 })).deletedCount).toBe(1);
    expect((await collection.deleteMany({ a: 1 })).deletedCount).toBe(2);
    expect(await collection.countDocuments()).toBe(1);
  });

  rule('a document of more than 16 MiB is refused', async ({ collection }) => {
    await expect(collection.insertOne({ text: 'x'.repeat(17_000_000) })).rejects.toThrow();
    expect(await collection.countDocuments()).toBe(0);
  });

  rule('a document of nearly 16 MiB is kept', async ({ collection }) => {
    const text = 'x'.repeat(16_000_000);
    await collection.insertOne({ text });
    expect((await collection.findOne())?.['text'] === text).toBe(true);
  });

  rule('an unacknowledged write arrives', async ({ db, collection, url }) => {
    // On a connection of its own: FerretDB answers what asks for no answer, and every later answer on that connection is then one behind.
    const client = await mongo.MongoClient.connect(url);
    try {
      await client
        .db(db.databaseName)
        .collection(collection.collectionName)
        .insertOne({ a: 1 }, { writeConcern: { w: 0 } });
      await expect.poll(() => collection.countDocuments()).toBe(1);
    } finally {
      await client.close(true);
    }
  });

  rule('collections are created once, listed and dropped', async ({ db, collection }) => {
    const name = collection.collectionName;
    await db.createCollection(name);
    expect((await failureOf(db.createCollection(name))).code).toBe(48);
    expect(await db.listCollections({ name }).toArray()).toMatchObject([{ name, type: 'collection' }]);
    expect(await db.listCollections({ name }, { nameOnly: true }).toArray()).toMatchObject([{ name }]);
    await collection.insertOne({ a: 1 });
    expect(await collection.drop()).toBe(true);
    expect(await db.listCollections({ name }).toArray()).toEqual([]);
    expect(await collection.countDocuments()).toBe(0);
  });

  rule('a database is dropped with all its collections', async ({ db, url }) => {
    const client = await mongo.MongoClient.connect(url);
    try {
      const other = client.db(`${db.databaseName}_drop`);
      await other.collection('a').insertOne({ a: 1 });
      await other.collection('b').insertOne({ a: 1 });
      await other.dropDatabase();
      expect(await other.listCollections().toArray()).toEqual([]);
      expect(await other.collection('a').countDocuments()).toBe(0);
    } finally {
      await client.close();
    }
  });

  rule('a collection name with a dollar is refused', async ({ db }) => {
    expect((await failureOf(db.command({ insert: 'a$b', documents: [{ a: 1 }] }))).code).toBe(73);
  });

  rule('a dollar field is not stored', async ({ collection }) => {
    expect((await failureOf(collection.insertOne({ a: { $b: 1 } }))).code).toBe(52);
  });

  rule('a transaction is refused', async ({ db, collection, url }) => {
    const client = await mongo.MongoClient.connect(url);
    const session = client.startSession();
    try {
      const failure = await failureOf(
        db.command({
          find: collection.collectionName,
          txnNumber: Long.fromNumber(1),
          startTransaction: true,
          autocommit: false,
          lsid: { id: new mongo.UUID() },
        }),
      );
      expect(failure.code).toBe(20);
    } finally {
      await session.endSession();
      await client.close();
    }
  });

  rule('a collation is refused', async ({ collection }) => {
    await collection.insertOne({ a: 'x' });
    await expect(collection.find({}, { collation: { locale: 'de' } }).toArray()).rejects.toThrow();
  });

  rule('one failed command does not harm those beside it', async ({ collection }) => {
    await collection.createIndex({ n: 1 }, { unique: true });
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => collection.insertOne({ n: Math.floor(i / 2) })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
    expect(await collection.countDocuments()).toBe(50);
  });
}
