import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { afterEach, expect, it, vi } from 'vitest';
import { LEASE_MS } from '../../src/domain/search/search-index.ts';
import { createStoreSearchIndex } from '../../src/search-engines/store/store-search-index.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('one process works on the index, by the clock of the store and whatever its own says', async () => {
  const dir = await makeTempDir('lease');
  const store = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const connection = await connectStore(store.url);
  const models = modelsOf(connection);
  const index = await createStoreSearchIndex(models);
  try {
    expect([await index.claim('one'), await index.claim('two'), await index.claim('one')]).toEqual([true, false, true]);
    // Another member of the store, whose clock was a little ahead, has given it.
    await models.indexState.updateOne({}, { $set: { lease_until: new Date(Date.now() + LEASE_MS + 10_000) } });
    expect([await index.claim('two'), await index.claim('one')]).toEqual([false, true]);
    // The clock of this process is a day ahead; the store runs in a thread of its own.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
    expect([await index.claim('two'), await index.claim('one')]).toEqual([false, true]);
    await models.indexState.updateOne({}, { $set: { lease_until: new Date(0) } });
    expect([await index.claim('two'), await index.claim('one')]).toEqual([true, false]);
    // The clock of the store was a year ahead then.
    await models.indexState.updateOne({}, { $set: { lease_until: new Date(Date.now() + 366 * 86_400_000) } });
    expect([await index.claim('one'), await index.claim('two')]).toEqual([true, false]);
    await index.release('one');
    expect(await index.claim('two')).toBe(true);
    await index.release('two');
    expect(await index.claim('one')).toBe(true);
  } finally {
    await index.close();
    await connection.close();
    await store.stop();
    await dir.remove();
  }
});
