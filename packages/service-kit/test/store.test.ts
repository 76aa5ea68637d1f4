import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { Schema } from 'mongoose';
import { expect, it } from 'vitest';
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
