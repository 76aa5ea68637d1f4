import { startStoreProcess } from '@wharf/harness';
import { mongo } from 'mongoose';
import { expect, it } from 'vitest';
import { foreseen } from '../src/store-outage.ts';

it('whatever the driver says to those who wait while a store hangs is an outage of the store', async () => {
  const store = await startStoreProcess();
  const client = await mongo.MongoClient.connect(store.url, {
    maxPoolSize: 1,
    retryReads: false,
    heartbeatFrequencyMS: 500,
    connectTimeoutMS: 2_000,
    serverSelectionTimeoutMS: 10_000,
  });
  try {
    const things = client.db('test').collection('things');
    await things.findOne({});
    store.pause();
    // One has the connection, the others wait for it.
    const asked = await Promise.allSettled([1, 2, 3].map(() => things.findOne({})));
    const errors = asked.map((each): unknown => (each.status === 'rejected' ? each.reason : undefined));
    expect(errors.map(String)).toContainEqual(expect.stringContaining('PoolCleared'));
    for (const error of errors) expect(foreseen(error)).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  } finally {
    store.resume();
    await client.close();
    await store.stop();
  }
});
