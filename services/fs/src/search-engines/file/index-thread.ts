import { Worker } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { memoryBytes } from '@wharf/pace';
import type { FromWorker, ToWorker } from './protocol.ts';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Of its heap: a quarter of the memory of the process, and enough for a folder of a million names. In MiB. */
const HEAP_MIB = Math.max(256, Math.floor(memoryBytes() / 4 / 1024 ** 2));

/** The thread that serves the index. */
export interface IndexThread {
  send(message: ToWorker): void;
  /** @throws AppError STORAGE_UNAVAILABLE | CANCELLED; as the operation; the reason of `signal` */
  ask(message: (id: number) => ToWorker, signal?: AbortSignal): Promise<unknown>;
  /** Whether it has failed: nothing is answered any more. */
  hasFailed(): boolean;
  /** Ends when the thread has ended. */
  stop(): Promise<void>;
}

/** @param heapMib of its heap @throws AppError STORAGE_UNAVAILABLE when the file cannot be opened */
export async function startIndexThread(file: string, heapMib = HEAP_MIB): Promise<IndexThread> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: file,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: heapMib },
  });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let failure: AppError | undefined;
  const fail = (cause: unknown) => {
    failure ??= new AppError('STORAGE_UNAVAILABLE', 'the search index is not available', { cause });
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  const exited = new Promise<void>((resolve) =>
    worker.once('exit', (code) => {
      fail(new Error(`the thread of the search index ended with ${code}`));
      resolve();
    }),
  );
  worker.once('error', fail);
  const send = (message: ToWorker): void => worker.postMessage(message);
  const ask = (message: (id: number) => ToWorker, signal?: AbortSignal): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure);
      if (signal?.aborted) return reject(cancelled(signal));
      lastId += 1;
      const id = lastId;
      const abort = () => {
        waiting.delete(id);
        send({ type: 'cancel', id });
        reject(cancelled(signal));
      };
      const end = () => signal?.removeEventListener('abort', abort);
      signal?.addEventListener('abort', abort, { once: true });
      waiting.set(id, {
        resolve(result) {
          end();
          resolve(result);
        },
        reject(error) {
          end();
          reject(error);
        },
      });
      send(message(id));
    });
  const ready = new Promise<void>((resolve, reject) => {
    waiting.set(0, { resolve: () => resolve(), reject });
  });
  worker.on('message', (message: FromWorker) => {
    const id = message.type === 'ready' ? 0 : message.id;
    const caller = waiting.get(id);
    waiting.delete(id);
    if (message.type === 'failed')
      caller?.reject(new AppError('STORAGE_UNAVAILABLE', 'the search index is not available', { cause: message.error }));
    else if (message.type === 'refused') caller?.reject(new AppError(message.code, message.reason));
    else caller?.resolve(message.type === 'done' ? message.result : undefined);
  });
  await ready;
  return {
    send,
    ask,
    hasFailed: () => failure !== undefined,
    async stop() {
      if (!failure) send({ type: 'stop' });
      await exited;
    },
  };
}

function cancelled(signal: AbortSignal | undefined): unknown {
  return AppError.is(signal?.reason) ? signal.reason : new AppError('CANCELLED', 'the caller went away');
}
