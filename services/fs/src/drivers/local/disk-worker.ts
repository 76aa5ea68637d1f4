import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import type { LocalSettings } from './config.ts';
import { createDiskOperations, type DiskOperations } from './disk-operations.ts';
import type { DiskAnswer, DiskRequest } from './disk-pool.ts';
import { toAppError } from './errors.ts';

/** The long ones, which look at their signal. The others do not last. */
const ENDED_BY_SIGNAL: ReadonlySet<keyof DiskOperations> = new Set(['addUp', 'remove', 'copy']);
const NEVER = new AbortController().signal;

function serve(settings: LocalSettings): void {
  const port = parentPort;
  if (port === null) throw new Error('disk-worker runs as a worker thread only');
  const running = new Map<number, AbortController>();
  let operations: DiskOperations | undefined;

  const run = (request: Extract<DiskRequest, { operation: unknown }>, signal: AbortSignal): unknown => {
    operations ??= createDiskOperations(settings);
    const operation = operations[request.operation] as (signal: AbortSignal, ...values: unknown[]) => unknown;
    return operation(signal, ...request.values);
  };

  port.on('message', (request: DiskRequest) => {
    if ('cancel' in request) {
      running.get(request.cancel)?.abort();
      return;
    }
    const { id } = request;
    const abort = ENDED_BY_SIGNAL.has(request.operation) ? new AbortController() : undefined;
    const answer = (message: DiskAnswer) => port.postMessage(message);
    const fail = (error: unknown) => {
      const { code, message, cause } = toAppError(error);
      answer({ id, error: { code, message, cause: cause instanceof Error ? cause.message : AppError.from(cause).message } });
    };
    try {
      const result = run(request, abort?.signal ?? NEVER);
      if (!(result instanceof Promise)) {
        answer({ id, result });
        return;
      }
      if (abort !== undefined) running.set(id, abort);
      result.then((value: unknown) => answer({ id, result: value }), fail).finally(() => running.delete(id));
    } catch (error) {
      fail(error);
    }
  });
}

/** The other end of `disk-pool.ts`: a thread that may block on the disk. Only the pool starts it, with LocalSettings as its data. */
serve(workerData as LocalSettings);
