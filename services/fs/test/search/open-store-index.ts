import { randomUUID } from 'node:crypto';
import { modelsOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import type { SearchIndex } from '../../src/domain/search/search-index.ts';
import { createStoreSearchIndex } from '../../src/search-engines/store/store-search-index.ts';

/** An index in a database of its own. @param closed called after the connection is closed. */
export async function openStoreIndex(storeUrl: string, closed: () => Promise<void> = async () => {}): Promise<SearchIndex> {
  const connection = await connectStore(Object.assign(new URL(storeUrl), { pathname: `/search-${randomUUID()}` }).href);
  const index = await createStoreSearchIndex(modelsOf(connection));
  return {
    ...index,
    async close() {
      await index.close();
      await connection.dropDatabase();
      await connection.close();
      await closed();
    },
  };
}
