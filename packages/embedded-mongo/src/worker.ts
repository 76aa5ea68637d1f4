import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { type StoreServerOptions, startStoreServer } from './server/store-server.ts';
import type { FromWorker } from './server/worker-protocol.ts';

const tell = (message: FromWorker): void => parentPort?.postMessage(message);
const options: StoreServerOptions = workerData;

try {
  const server = await startStoreServer(options);
  parentPort?.once('message', () => {
    void server.stop().then(() => {
      tell({ type: 'stopped' });
      parentPort?.close();
    });
  });
  tell({ type: 'ready', url: server.url });
} catch (error) {
  const refusal = AppError.from(error);
  if (refusal.code === 'INTERNAL') throw error;
  tell({ type: 'refused', code: refusal.code, message: refusal.message });
  parentPort?.close();
}
