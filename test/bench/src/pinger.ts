import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Asks a server for `/ping` again and again, over one connection, on a thread of its own. */
export interface Pinger {
  /** The longest wait since it was asked last, in milliseconds; a ping that still waits counts. */
  longestMs(): Promise<number>;
  stop(): Promise<void>;
}

/** @param base origin of the server */
export function startPinger(base: string): Pinger {
  const worker = new Worker(new URL('./ping-worker.ts', import.meta.url), { workerData: { base } });
  return {
    async longestMs() {
      worker.postMessage('');
      const [ms]: number[] = await once(worker, 'message');
      return ms ?? Number.NaN;
    },
    async stop() {
      await worker.terminate();
    },
  };
}
