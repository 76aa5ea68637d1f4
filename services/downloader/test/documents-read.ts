import type { StoreConnection } from '@wharf/service-kit';

/** How many documents the store has read since it was started. */
export async function documentsRead(store: StoreConnection): Promise<number> {
  const status = await store.db?.admin().command({ serverStatus: 1 });
  return Number(status?.['metrics'].queryExecutor.scannedObjects);
}
