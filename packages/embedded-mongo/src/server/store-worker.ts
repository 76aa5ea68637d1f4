import type { MessagePort } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { startStoreServer } from './store-server.ts';
import type { FromWorker, WorkerOptions } from './worker-protocol.ts';

/** Runs the server until the port is told to stop. */
export async function runStoreWorker(port: MessagePort, { isClosed, ...options }: WorkerOptions): Promise<void> {
  const tell = (message: FromWorker): void => port.postMessage(message);
  try {
    const server = await startStoreServer(options);
    process.once('uncaughtExceptionMonitor', server.abandon);
    port.once('message', () => {
      void server.stop().then(() => {
        Atomics.store(isClosed, 0, 1);
        Atomics.notify(isClosed, 0);
        tell({ type: 'stopped' });
        port.close();
      });
    });
    tell({ type: 'ready', url: server.url });
  } catch (error) {
    const refusal = AppError.from(error);
    if (refusal.code === 'INTERNAL') throw error;
    tell({ type: 'refused', code: refusal.code, message: refusal.message });
    port.close();
  }
}
