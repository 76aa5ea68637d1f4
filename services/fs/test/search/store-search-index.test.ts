import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { openStoreIndex } from './open-store-index.ts';
import { describeSearchIndex } from './search-index.suite.ts';

describeSearchIndex('in the embedded store', async () => {
  const dir = await makeTempDir('search');
  const store = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  return openStoreIndex(store.url, async () => {
    await store.stop();
    await dir.remove();
  });
});
