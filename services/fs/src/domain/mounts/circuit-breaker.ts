import { AppError } from '@wharf/errors';
import { outsideCalls } from '@wharf/pace';
import { isUnanswered, storageError } from '../../driver-contract/storage-error.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

/**
 * Refuses calls of a storage that does not answer, and finds out when it answers again. Calls that fail do not say it alone: a part of it may be away, or a
 * server fail by what it is asked, for which nobody else is refused. So before calls are refused it is looked at itself.
 */
export interface CircuitBreaker {
  readonly state: BreakerState;
  /** When it is tried next; undefined while calls pass. */
  readonly retryAt: Date | undefined;
  /** Before a call. @returns its number, greater than those before it. @throws AppError STORAGE_UNAVAILABLE at once while calls do not pass */
  begin(): number;
  succeeded(): void;
  /** @param call its number: calls that were under way together and fail count as one failure */
  failed(error: unknown, call: number): void;
  /** Lets go of its timer. */
  stop(): void;
}

export interface CircuitBreakerOptions {
  /** Milliseconds. */
  readonly clock: () => number;
  /** Runs something later. @returns takes that back */
  readonly after: (ms: number, run: () => void) => () => void;
  /**
   * Looks at the storage itself. It is there when this resolves, and also when it fails, unless isUnanswered() says so.
   *
   * @param maxMs undefined: as long as a call takes, once it has its turn, however many others wait for theirs
   */
  readonly probe: (maxMs: number | undefined) => Promise<unknown>;
  /** @param error why calls do not pass any more; undefined when they pass again */
  readonly onChange: (state: BreakerState, error: unknown) => void;
}

/** The storage is looked at after this many failures in a row. A failure counts when its call began after the failure before. */
const FAILURES_TO_LOOK = 3;
/** The pause before the first look, doubled after each that fails, in milliseconds. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** How long a look at a storage that was away may take, in milliseconds: nobody else asks it then. */
const MAX_LOOK_MS = 10_000;

export function createCircuitBreaker({ clock, after, probe, onChange }: CircuitBreakerOptions): CircuitBreaker {
  let state: BreakerState = 'closed';
  let failures = 0;
  let lastCall = 0;
  /** The last call that had begun when a failure was counted. */
  let countedUpTo = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let retryAt = 0;
  let cancel = () => {};
  let isLooking = false;
  let isStopped = false;

  const change = (next: BreakerState, error?: unknown) => {
    state = next;
    onChange(next, error);
  };
  const close = () => {
    failures = 0;
    if (state === 'closed' || isStopped) return;
    cancel();
    pauseMs = FIRST_PAUSE_MS;
    change('closed');
  };
  const open = (error: unknown) => {
    retryAt = clock() + pauseMs;
    cancel = after(pauseMs, look);
    change('open', error);
  };
  /** A call that was under way may have shown meanwhile that the storage is there. @param isStill whether none has */
  const ask = (maxMs: number | undefined, isStill: () => boolean, away: (error: AppError) => void) =>
    probe(maxMs).then(close, (error: unknown) => {
      if (!isUnanswered(error)) close();
      else if (!isStopped && isStill()) away(error);
    });
  const isHalfOpen = () => state === 'half-open';
  const look = () => {
    change('half-open');
    void ask(MAX_LOOK_MS, isHalfOpen, (error) => {
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      open(error);
    });
  };
  const isSuspect = () => failures >= FAILURES_TO_LOOK;
  /** While calls pass: they are refused where the storage itself is away. */
  const suspect = () => {
    isLooking = true;
    // For all: the call that failed last may hold what the look would wait for.
    void outsideCalls(() => ask(undefined, isSuspect, open)).finally(() => {
      isLooking = false;
    });
  };

  return {
    get state() {
      return state;
    },
    get retryAt() {
      return state === 'closed' ? undefined : new Date(retryAt);
    },
    begin() {
      if (state !== 'closed') throw storageError('STORAGE_UNAVAILABLE');
      lastCall += 1;
      return lastCall;
    },
    succeeded: close,
    failed(error, call) {
      // The caller has gone, or its turn did not come: the storage has said nothing.
      if (AppError.is(error, 'CANCELLED') || AppError.is(error, 'OVERLOADED')) return;
      if (!isUnanswered(error)) return close();
      if (call <= countedUpTo) return;
      countedUpTo = lastCall;
      failures += 1;
      if (isSuspect() && state === 'closed' && !isLooking && !isStopped) suspect();
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
