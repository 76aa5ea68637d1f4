import { Worker } from 'node:worker_threads';
import type { SlowHash } from '../domain/passwords.ts';
import type { HashDone, HashWork } from './argon2-worker.ts';

/** A slow hash with a thread of its own. */
export interface Argon2 extends SlowHash {
  /** Ends the thread; work that still runs fails. */
  close(): Promise<void>;
}

/** Without logins the thread, and its memory, go. */
const IDLE_AFTER_MS = 60_000;

type Waiting = PromiseWithResolvers<string | boolean>;

/**
 * argon2id on one thread of low priority. So many logins at once do not slow down listings, downloads and the store. The thread starts with
 * the first hash and ends when nothing is asked of it.
 */
export function createArgon2(): Argon2 {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;

  const forget = (gone: Worker, cause: unknown) => {
    if (worker !== gone) return;
    worker = undefined;
    for (const { reject } of waiting.values()) reject(new Error('the thread that hashes passwords has ended', { cause }));
    waiting.clear();
  };
  /** Ending takes a moment. Who asks meanwhile gets another thread. */
  const end = (idler: Worker) => {
    if (worker === idler) worker = undefined;
    void idler.terminate();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./argon2-worker.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
    started.on('error', (error) => forget(started, error));
    started.on('exit', () => forget(started, undefined));
    started.on('message', ({ id, answer, problem }: HashDone) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) {
        started.unref();
        idle = setTimeout(() => end(started), IDLE_AFTER_MS).unref();
      }
      if (answer === undefined) asked?.reject(new Error(problem));
      else asked?.resolve(answer);
    });
    return started;
  };
  const run = (work: Omit<HashWork, 'id'>): Promise<string | boolean> => {
    clearTimeout(idle);
    worker ??= start();
    worker.ref();
    const id = ++lastId;
    const asked: Waiting = Promise.withResolvers();
    waiting.set(id, asked);
    worker.postMessage({ id, ...work } satisfies HashWork);
    return asked.promise;
  };

  return {
    hash: async (text) => String(await run({ text })),
    verify: async (stored, text) => (await run({ text, stored })) === true,
    async close() {
      clearTimeout(idle);
      await worker?.terminate();
    },
  };
}
