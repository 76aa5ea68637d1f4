import { type StoreProcess, startStoreProcess } from '@wharf/harness';
import { afterAll } from 'vitest';
import { documentsRead } from './documents-read.ts';
import { describeLongQueue } from './long-queue.ts';

/** `npm run soak -- queue` asks for 100,000. */
const TASKS = Number(process.env['WHARF_TEST_TASKS'] ?? 3_000);

let store: StoreProcess;
afterAll(() => store?.stop());

describeLongQueue('the embedded store', TASKS, async () => {
  store = await startStoreProcess();
  return { url: store.url, restart: store.restart, documentsRead: () => documentsRead(store.url) };
});
