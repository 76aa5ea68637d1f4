import fs from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { collectGarbage } from '@wharf/pace';
import type { DiskAnswer, DiskCall, DiskReport, DiskRequest } from './disk-messages.ts';
import { createDiskOperations, type DiskOperations } from './disk-operations.ts';
import type { NewPlace } from './disk-threads.ts';
import { diskFailure } from './errors.ts';
import { handedOver } from './handed-over.ts';

/** The long ones, which look at their signal. The others do not last. */
const ENDED_BY_SIGNAL: ReadonlySet<keyof DiskOperations> = new Set(['addUp', 'sizeUpCopy', 'remove', 'copy']);
/** In a batch that takes longer, answers do not wait for its end. */
const REPORT_AFTER_MS = 2;
/** Names of so many letters together leave garbage of some times that, which the heap of a thread that has nothing to do would keep. */
const GARBAGE_LETTERS = 4 * 1024 * 1024;
const NEVER = new AbortController().signal;

/** The other end of a lane of `disk-pool.ts`. */
function serve(isAt: Int32Array, { port, settings, id: placeId, ended }: NewPlace): void {
  const hasEnded = () => Atomics.load(ended, 0) !== 0;
  const running = new Map<number, AbortController>();
  let operations: DiskOperations | undefined;

  const run = ({ operation: name, values }: DiskCall, signal: AbortSignal): unknown => {
    operations ??= createDiskOperations(settings);
    const operation = operations[name] as (signal: AbortSignal, ...values: unknown[]) => unknown;
    return operation(signal, ...values);
  };
  /** Memory that goes with the next report. */
  let memory: ArrayBuffer[] = [];
  const report = (answers: readonly DiskAnswer[], isBatchDone: boolean) => {
    if (hasEnded()) {
      for (const { result } of answers) if (holdsHandle(result)) fs.closeSync(result.fd);
      return;
    }
    port.postMessage({ answers, isBatchDone } satisfies DiskReport, memory);
    memory = [];
    if (answers.some(({ result }) => lettersOf(result) > GARBAGE_LETTERS)) setImmediate(() => collectGarbage('last-resort'));
  };

  let late: DiskAnswer[] = [];
  /** What ends together, such as files that shared the sync of their folder, is told together: a message costs as much as a small file. */
  const reportLate = (answer: DiskAnswer) => {
    late.push(answer);
    if (late.length > 1) return;
    setImmediate(() => {
      report(late, false);
      late = [];
    });
  };

  /** Answers the callers whom one run served; undefined when that is for later. */
  const begin = (call: DiskCall): DiskAnswer | undefined => {
    const { ids, operation } = call;
    try {
      const abort = ENDED_BY_SIGNAL.has(operation) ? new AbortController() : undefined;
      const result = run(call, abort?.signal ?? NEVER);
      if (typeof result === 'object' && result !== null) memory.push(...handedOver(operation, result));
      // A handle is for one caller, who closes it.
      if (!(result instanceof Promise)) return { ids: holdsHandle(result) ? ids.slice(0, 1) : ids, result };
      const [id = 0] = ids;
      if (abort !== undefined) running.set(id, abort);
      result
        .then(
          (value: unknown) => reportLate({ ids, result: value }),
          (error) => reportLate(failure(ids, error)),
        )
        .finally(() => running.delete(id));
      return undefined;
    } catch (error) {
      return failure(ids, error);
    }
  };

  port.on('message', (request: DiskRequest) => {
    if ('cancel' in request) {
      running.get(request.cancel)?.abort();
      return;
    }
    let answers: DiskAnswer[] = [];
    let reportedAt = performance.now();
    Atomics.store(isAt, 0, placeId);
    for (const call of request.batch) {
      if (hasEnded()) break;
      for (let ids = call.ids; ids.length > 0; ) {
        const answer = begin({ ...call, ids });
        if (answer !== undefined) answers.push(answer);
        ids = ids.slice(answer?.ids.length ?? ids.length);
      }
      if (performance.now() - reportedAt < REPORT_AFTER_MS) continue;
      report(answers, false);
      answers = [];
      reportedAt = performance.now();
    }
    Atomics.store(isAt, 0, 0);
    report(answers, true);
  });
  // Nobody waits any more.
  port.on('close', () => {
    for (const abort of running.values()) abort.abort();
  });
}

function failure(ids: readonly number[], error: unknown): DiskAnswer {
  return { ids, error: diskFailure(error) };
}

function lettersOf(result: unknown): number {
  return typeof result === 'object' && result !== null && 'names' in result && typeof result.names === 'string' ? result.names.length : 0;
}

function holdsHandle(result: unknown): result is { readonly fd: number } {
  return typeof result === 'object' && result !== null && 'fd' in result;
}

/** A thread that may block on the disk. `disk-threads.ts` starts it, and sends it storages. */
if (parentPort === null) throw new Error('disk-worker runs as a worker thread only');
parentPort.on('message', (place: NewPlace) => serve(workerData as Int32Array, place));
