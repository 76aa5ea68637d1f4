import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { expect, it } from 'vitest';
import { createStoreSearchIndex } from '../../src/search-engines/store/store-search-index.ts';
import { openStoreIndex } from './open-store-index.ts';
import { file, path } from './plain-scan.ts';
import { describeSearchIndex } from './search-index.suite.ts';

async function openStore() {
  const dir = await makeTempDir('search');
  const store = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  const close = async () => {
    await store.stop();
    await dir.remove();
  };
  return { url: store.url, close };
}

describeSearchIndex('in the embedded store', async () => {
  const { url, close } = await openStore();
  return openStoreIndex(url, close);
});

it('an emptied index fills without the index over grams, also after a restart, and has it from when it is made fast', async () => {
  const { url, close } = await openStore();
  const connection = await connectStore(url);
  const models = modelsOf(connection);
  const indexes = async () => (await models.indexEntries.collection.indexes()).map(({ name }) => name);
  const index = await createStoreSearchIndex(models);
  for (const round of [1, 2]) {
    await index.clear();
    await index.openFolder(path('/'), -1, 1);
    await index.put(path('/'), [file(`entry ${round}`)], 1);
    await createStoreSearchIndex(models);
    expect(await indexes()).toEqual(['_id_']);
    await index.makeFast();
    expect(await indexes()).toEqual(['_id_', 'grams_1']);
  }
  await connection.close();
  await close();
});
