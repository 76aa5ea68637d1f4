import { Socket } from 'node:net';
import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, startStoreProcess, startStoreWay } from '@wharf/harness';
import { mongo, Schema } from 'mongoose';
import { expect, it, vi } from 'vitest';
import { connectStore } from '../src/index.ts';

it('writes are acknowledged by the majority, reads go to the primary, and queries end, whatever the URL says', async () => {
  const dir = await makeTempDir('store');
  const embedded = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const connection = await connectStore(`${embedded.url}&w=0&readPreference=secondaryPreferred&monitorCommands=true`);
  try {
    const sent = new Map<string, object>();
    connection.getClient().on('commandStarted', ({ commandName, command }) => sent.set(commandName, command));
    const things = connection.model('things', new Schema({ _id: Number, name: String }));
    await things.create({ _id: 1, name: 'one' });
    await things.updateOne({ _id: 1 }, { $set: { name: 'two' } });
    await things.findOneAndUpdate({ _id: 1 }, { $set: { name: 'three' } });
    expect(await things.findById(1).lean()).toEqual({ _id: 1, name: 'three', __v: 0 });
    expect(await things.countDocuments({ name: 'three' })).toBe(1);
    await things.deleteOne({ _id: 1 });
    for (const name of ['insert', 'update', 'findAndModify', 'delete'])
      expect(sent.get(name), name).toMatchObject({ writeConcern: { w: 'majority' } });
    for (const name of ['find', 'aggregate', 'findAndModify']) expect(sent.get(name), name).toMatchObject({ maxTimeMS: 30_000 });
    expect(connection.getClient().options.readPreference.mode).toBe('primary');
  } finally {
    await connection.close();
    await embedded.stop();
    await dir.remove();
  }
});

it('what is asked of the store while a connection to it closes has an answer', async () => {
  const store = await startStoreProcess();
  const way = await startStoreWay(store.url, () => ({ asked: () => undefined }));
  const port = Number(new URL(way.url).port);
  const client = await mongo.MongoClient.connect(way.url, { maxPoolSize: 1, serverSelectionTimeoutMS: 500 });
  const things = client.db('test').collection('things');
  await things.findOne({});
  const asked: Promise<string>[] = [];
  const { destroy } = Socket.prototype;
  vi.spyOn(Socket.prototype, 'destroy').mockImplementation(function (this: Socket, error) {
    const isOurs = !this.destroyed && this.remotePort === port;
    destroy.call(this, error);
    const ask = () =>
      asked.push(
        things.findOne({}).then(
          () => 'found',
          ({ name }) => name,
        ),
      );
    // It is closed, and has not said so yet.
    if (isOurs) queueMicrotask(ask);
    return this;
  });
  try {
    await way.stop();
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1));
    for (const answer of await Promise.all(asked)) expect(answer).toMatch(/^Mongo/);
  } finally {
    vi.restoreAllMocks();
    await client.close();
    await store.stop();
  }
});
