import { connectStore } from '@wharf/service-kit';
import { z } from 'zod';

const status = z.object({ metrics: z.object({ queryExecutor: z.object({ scannedObjects: z.number() }) }) });

/** How many documents a store has read since it was started. */
export async function documentsRead(url: string): Promise<number> {
  const store = await connectStore(url);
  try {
    return status.parse(await store.db?.admin().command({ serverStatus: 1 })).metrics.queryExecutor.scannedObjects;
  } finally {
    await store.close();
  }
}
