import type { CallOptions } from './storage-driver.ts';
import { abortError, Lost, storageError, throwIfAborted } from './storage-error.ts';

/** How long closing waits for what cancelled calls still clean up, in milliseconds. */
const CLEAN_UP_MS = 3_000;

/** What becomes of a call, by whoever asks for it. */
export type Asked = Pick<CallOptions, 'signal' | 'afterWaiting'>;

/** What the work of one call goes by. */
export interface Call {
  /** Aborted with the caller, and when the storage is closed, unless the call is committed by then. */
  readonly signal: AbortSignal;
  /** Before a change, and after all looks: they may have taken long. @throws the reason of the abort, and what the `afterWaiting` of the call throws */
  stillWanted(): Promise<void>;
  /** From here on the call does not end with its signal: half way, nobody could say whether it was done. */
  letGo(): void;
  /** Both. */
  commit(): Promise<void>;
}

/**
 * The calls of one storage. Each ends at once when its caller aborts or the storage is closed, however long the server is silent; its work goes on
 * behind it until it has cleaned up, which closing waits for.
 */
export class Calls {
  readonly #closing = new AbortController();
  readonly #closed = new AbortController();
  readonly #lasts: (() => void)[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #toAppError: (error: unknown) => unknown;

  /** @param toAppError what callers get of a failure that is the library's own */
  constructor(toAppError: (error: unknown) => unknown = (error) => error) {
    this.#toAppError = toAppError;
  }

  /** Aborted when the storage is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** For a connection: aborted when the storage is closed, or, if it is begun after that to clean up, when that is over. */
  get connecting(): AbortSignal {
    return this.#closing.signal.aborted ? this.#closed.signal : this.#closing.signal;
  }

  /** What closing does last, when all calls have ended. It is waited for as they are. @param work tracks what it begins */
  atEnd(work: () => void): void {
    this.#lasts.push(work);
  }

  /** Aborted with the caller, and when the storage is closed. */
  until(caller: AbortSignal | undefined): AbortSignal {
    return orClosed(caller, this.#closing.signal);
  }

  /**
   * @param drop what becomes of a result that comes when nobody waits for it any more
   * @throws what the work throws, as AppError
   */
  async run<Result>(
    { signal: outer, afterWaiting }: Asked,
    work: (call: Call) => Promise<Result>,
    drop: (late: Result) => Promise<void> = async () => undefined,
  ): Promise<Result> {
    // One signal for both would cost more than to listen to both.
    const until = outer ? [this.#closing.signal, outer] : [this.#closing.signal];
    const findAborted = () => until.find(({ aborted }) => aborted);
    const late = findAborted();
    if (late) throw abortError(late);
    const ending = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    let isAnswered = false;
    const letGo = () => {
      for (const signal of until) signal.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      const aborted = findAborted() ?? this.#closing.signal;
      letGo();
      isAnswered = true;
      reject(abortError(aborted));
      ending.abort(aborted.reason);
    };
    for (const signal of until) signal.addEventListener('abort', onAbort, { once: true });
    const stillWanted = async () => {
      if (afterWaiting) await afterWaiting();
      throwIfAborted(ending.signal);
    };
    const commit = async () => {
      if (afterWaiting) await afterWaiting();
      // In one turn: whoever is told that the call ended may rely on it.
      throwIfAborted(ending.signal);
      letGo();
    };
    this.track(
      work({ signal: ending.signal, stillWanted, letGo, commit }).then(
        (result) => (isAnswered ? drop(result) : resolve(result)),
        (error) => reject(this.#toAppError(error instanceof Lost ? error.cause : error)),
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
    // What cleans up may begin something more.
    const idle = async () => {
      while (this.#running.size > 0) await Promise.all(this.#running);
    };
    const clean = async () => {
      await idle();
      for (const last of this.#lasts) last();
      await idle();
    };
    await cleanedUp(clean());
    this.#closed.abort(storageError('STORAGE_UNAVAILABLE'));
  }
}

/** A signal that aborts with the caller, and when the storage is closed. */
export function orClosed(caller: AbortSignal | undefined, closing: AbortSignal): AbortSignal {
  return caller ? AbortSignal.any([closing, caller]) : closing;
}

/** The options of a call that ends with its storage as well as with its caller. */
export function untilClosed<Options extends CallOptions>(options: Options, closing: AbortSignal): Options {
  return { ...options, signal: orClosed(options.signal, closing) };
}

/** Waits a little, when a storage is closed, for what was cancelled to take back what it made. */
export async function cleanedUp(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLEAN_UP_MS);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
