import { abortError, storageError } from '../../driver-contract/storage-error.ts';
import { toAppError } from './errors.ts';

/** How long closing waits for what cancelled calls still clean up. */
const CLEAN_UP_MS = 3_000;

/** What the work of one call goes by. */
export interface Call {
  /** Aborted with the caller, and when the storage is closed. */
  readonly signal: AbortSignal;
  /** From here on the call does not end with its signal: half way, nobody could say whether it was done. */
  commit(): void;
}

/**
 * The calls of one storage. Each ends at once when its caller aborts or the storage is closed, however long the server is silent; its work goes on
 * behind it until it has cleaned up, which closing waits for.
 */
export class Calls {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** Aborted when the storage is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * @param drop what becomes of a result that comes when nobody waits for it any more
   * @throws what the work throws, with what the server refused as AppError
   */
  async run<Result>(
    outer: AbortSignal | undefined,
    work: (call: Call) => Promise<Result>,
    drop: (late: Result) => Promise<void> = async () => undefined,
  ): Promise<Result> {
    const signal = outer ? AbortSignal.any([this.#closing.signal, outer]) : this.#closing.signal;
    if (signal.aborted) throw abortError(signal);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    let isAnswered = false;
    const onAbort = () => {
      isAnswered = true;
      reject(abortError(signal));
    };
    const letGo = () => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort, { once: true });
    this.track(
      work({ signal, commit: letGo }).then(
        (result) => (isAnswered ? drop(result) : resolve(result)),
        (error) => reject(toAppError(error)),
      ),
    );
    return promise.finally(letGo);
  }

  /** For what is done behind a call. Its failure is nobody's. */
  track(work: Promise<unknown>): void {
    const running = work.catch(() => undefined).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends all calls, and waits a little for what they clean up. */
  async close(): Promise<void> {
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLEAN_UP_MS);
    });
    // What cleans up may begin something more.
    const idle = async () => {
      while (this.#running.size > 0) await Promise.all(this.#running);
    };
    await Promise.race([idle(), late]);
    clearTimeout(timer);
  }
}
