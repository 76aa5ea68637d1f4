import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import type { SearchAnswer, SearchIndex } from '../../domain/search/search-index.ts';
import type { IndexOperations, Steps } from './index-operations.ts';
import type { FromWorker, OperationName, ToWorker } from './protocol.ts';

const FILE = 'index.sqlite';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Values<Name extends OperationName> = Parameters<IndexOperations[Name]>;
type Returned<Name extends OperationName> = ReturnType<IndexOperations[Name]>;
type Result<Name extends OperationName> = Returned<Name> extends Steps<infer Value> ? Value : Returned<Name>;

/**
 * The index of one process, in a file of its own in `directory`, served by a thread: neither searching nor writing holds up this one.
 *
 * @throws AppError STORAGE_UNAVAILABLE when the file cannot be opened
 */
export async function openFileSearchIndex(directory: string): Promise<SearchIndex> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: join(directory, FILE),
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
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
    else caller?.resolve(message.type === 'done' ? message.result : undefined);
  });
  await ready;

  // The worker answers what the operation of this name answers.
  const run = <Name extends OperationName>(name: Name, ...values: Values<Name>): Promise<Result<Name>> =>
    ask((id) => ({ type: 'operation', id, name, values })) as Promise<Result<Name>>;
  let sent: { rules: readonly RuleRecord[]; number: number } | undefined;
  const numberOf = (rules: readonly RuleRecord[]): number => {
    if (sent?.rules !== rules) {
      sent = { rules, number: (sent?.number ?? 0) + 1 };
      send({ type: 'rules', ...sent });
    }
    return sent.number;
  };

  return {
    search({ viewer: { rules, ...viewer }, ...query }, signal) {
      const wire = { ...query, viewer, rules: numberOf(rules) };
      return ask((id) => ({ type: 'search', id, query: wire }), signal) as Promise<SearchAnswer>;
    },
    count: () => run('count'),
    findFolder: (path) => run('findFolder', path),
    children: (directory) => run('children', directory),
    put: (directory, entries, generation) => run('put', directory, entries, generation),
    remove: (directory, names) => run('remove', directory, names),
    move: (from, to) => run('move', from, to),
    clear: () => run('clear'),
    makeFast: async () => {},
    openFolder: (path, depth, generation) => run('openFolder', path, depth, generation),
    requeue: (path, generation, isDeep) => run('requeue', path, generation, isDeep),
    queued: (generation, limit) => run('queued', generation, limit),
    settle: (paths, isDeep = false) => run('settle', paths, isDeep),
    readState: () => run('readState'),
    replaceState: (next) => run('replaceState', next),
    // The file belongs to one process.
    claim: async () => true,
    release: async () => {},
    async close() {
      if (!failure) send({ type: 'stop' });
      await exited;
    },
  };
}

function cancelled(signal: AbortSignal | undefined): unknown {
  return AppError.is(signal?.reason) ? signal.reason : new AppError('CANCELLED', 'the caller went away');
}
