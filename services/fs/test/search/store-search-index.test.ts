import { randomUUID } from 'node:crypto';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { createStoreSearchIndex } from '../../src/store/store-search-index.ts';
import { describeSearchIndex } from './search-index.suite.ts';

describeSearchIndex('in the embedded store', async () => {
  const dir = await makeTempDir('search');
  const store = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  const connection = await connectStore(Object.assign(new URL(store.url), { pathname: `/search-${randomUUID()}` }).href);
  const index = await createStoreSearchIndex(modelsOf(connection));
  return {
    ...index,
    async close() {
      await index.close();
      await connection.close();
      await store.stop();
      await dir.remove();
    },
  };
});
