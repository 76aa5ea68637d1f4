import { Worker } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import type { ListenOption } from './server/listen-address.ts';
import { type FromWorker, STOP, type WorkerOptions } from './server/worker-protocol.ts';

export interface EmbeddedMongoOptions {
  /** Belongs to the store alone: it is made when absent, and its mode is set to 0700. */
  readonly dataDir: string;
  /** Where to listen; absent: a unix socket in the data directory. */
  readonly listen?: ListenOption;
  /** Pause between two runs of the TTL reaper; absent: 60,000, as MongoDB. */
  readonly ttlIntervalMs?: number;
  /** Bound on documents over all collections; absent: 200,000. */
  readonly maxDocuments?: number;
  /** Names of collections that may take the last twentieth of these, which others may not, `name/2` the first half of it; absent: all may. */
  readonly keptFor?: readonly string[];
  /** Copies the store to `store.<copyAs>.sqlite` beside it, before it is opened to anybody, unless there is such a copy. */
  readonly copyAs?: string | undefined;
}

export interface EmbeddedMongo {
  /** For mongoose and the MongoDB driver. */
  readonly url: string;
  /** Answers what was asked before, writes everything to the main file and releases the data directory. Safe to call again. */
  readonly stop: () => Promise<void>;
  /** Resolves when the store dies without having been stopped; stays pending for ever otherwise. */
  readonly failed: Promise<AppError>;
}

const DEFAULT_TTL_INTERVAL_MS = 60_000;
const DEFAULT_MAX_DOCUMENTS = 200_000;
/** How long a process that exits without having stopped the store waits for it, in milliseconds. */
const EXIT_LIMIT_MS = 2_000;

/**
 * Starts the embedded store in a worker thread: this thread never waits for a disk.
 *
 * @throws AppError FAILED_PRECONDITION when the data directory is in use, or not usable; CONTENT_CORRUPT when its file is damaged.
 */
export async function startEmbeddedMongo(options: EmbeddedMongoOptions): Promise<EmbeddedMongo> {
  const isClosed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: WorkerOptions = {
    isClosed,
    dataDir: options.dataDir,
    listen: options.listen ?? 'socket',
    ttlIntervalMs: options.ttlIntervalMs ?? DEFAULT_TTL_INTERVAL_MS,
    maxDocuments: options.maxDocuments ?? DEFAULT_MAX_DOCUMENTS,
    keptFor: options.keptFor ?? [],
    copyAs: options.copyAs,
  };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData, execArgv: ['--disable-warning=ExperimentalWarning'] });
  const exited = new Promise<AppError>((resolve) => {
    worker.once('error', (error) => resolve(new AppError('INTERNAL', 'the embedded store failed', { cause: error })));
    worker.once('exit', (code) => resolve(new AppError('INTERNAL', `the embedded store ended with code ${code}`)));
  });
  // When a process exits its threads are ended: SQLite closes the file then, in the middle of whatever it does.
  const onExit = () => {
    worker.postMessage(STOP);
    Atomics.wait(isClosed, 0, 0, EXIT_LIMIT_MS);
  };
  process.once('exit', onExit);
  void exited.then(() => process.off('exit', onExit));
  const started = new Promise<FromWorker>((resolve) => worker.once('message', resolve));
  const outcome = await Promise.race([started, exited]);
  if (AppError.is(outcome)) throw outcome;
  if (outcome.type === 'refused') throw new AppError(outcome.code, outcome.message);
  if (outcome.type !== 'ready') throw new AppError('INTERNAL', 'the embedded store did not start');

  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    worker.postMessage(STOP);
    await exited;
  };
  return {
    url: outcome.url,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    failed: new Promise((resolve) => {
      void exited.then((error) => {
        if (!stopping) resolve(error);
      });
    }),
  };
}
