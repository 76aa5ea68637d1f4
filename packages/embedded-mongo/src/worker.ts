import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

// A thread strips the types of all its files again: 150 ms without this cache, 30 ms with it. The cache lies beside the code and is trusted
// like the code; where the folder cannot be written, starting is slower and nothing else.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

const { runStoreWorker } = await import('./server/store-worker.ts');
if (parentPort) await runStoreWorker(parentPort, workerData);
flushCompileCache();
