import { AppError } from '@wharf/errors';
import { abortError, throwIfAborted } from './storage-error.ts';

interface Running<Result> {
  readonly done: Promise<Result>;
  readonly abort: AbortController;
  callers: number;
}

/**
 * Does work once for all callers that ask for it while it runs. A caller that goes away does not end it: it is aborted when no caller waits
 * any more.
 *
 * @returns what does the work of a key, or waits for it. @throws what the caller's signal says, or the work
 */
export function createSharedWork<Key, Result = void>(): (
  key: Key,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result> {
  const running = new Map<Key, Running<Result>>();
  const forget = (key: Key, shared: Running<Result>) => {
    if (running.get(key) === shared) running.delete(key);
  };
  const begin = (key: Key, work: (signal: AbortSignal) => Promise<Result>): Running<Result> => {
    const abort = new AbortController();
    const shared: Running<Result> = { done: work(abort.signal).finally(() => forget(key, shared)), abort, callers: 0 };
    // Every caller may have gone by then.
    shared.done.catch(() => undefined);
    running.set(key, shared);
    return shared;
  };
  return async (key, signal, work) => {
    throwIfAborted(signal);
    const joined = running.get(key);
    const shared = joined ?? begin(key, work);
    shared.callers += 1;
    const gone = Promise.withResolvers<never>();
    const leave = () => gone.reject(abortError(signal));
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([shared.done, gone.promise]);
    } catch (error) {
      // A circle is one of the way by which the one who began came.
      if (joined && AppError.is(error, 'CIRCULAR_MOUNT')) return await work(signal);
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
      shared.callers -= 1;
      if (shared.callers === 0) {
        forget(key, shared);
        shared.abort.abort();
      }
    }
  };
}
