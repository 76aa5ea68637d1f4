import { AppError } from '@wharf/errors';
import { MOUNT_ROOT } from '@wharf/paths';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { type CallObserver, withObserver } from '../../driver-contract/with-observer.ts';
import { type BreakerState, type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts';

/** How the calls of one storage went, and whether more of them pass. */
export interface StorageMonitor {
  readonly breaker: BreakerState;
  readonly retryAt: Date | undefined;
  readonly lastFailure: { readonly message: string; readonly at: Date } | undefined;
  /** Milliseconds, the recent calls counting most; 0 before the first. */
  readonly latencyMs: number;
  readonly calls: number;
  readonly failures: number;
  /** The same driver with its calls watched. The driver that was watched before is no longer watched. @param enter as CallObserver has it */
  watch(driver: StorageDriver, enter: CallObserver['enter']): StorageDriver;
  /** What failed before there was a driver. */
  noteFailure(error: unknown): void;
  stop(): void;
}

export interface StorageMonitorOptions {
  /** It has no server and no disk of its own: what it stands on is watched itself, and refused itself where it does not answer. */
  readonly standsOnOthers: () => boolean;
  readonly clock: () => number;
  readonly after: (ms: number, run: () => void) => () => void;
  /** @param elapsedMs undefined for calls that take as long as their content, and for those that failed */
  readonly onCall: (isFailure: boolean, elapsedMs: number | undefined) => void;
  /** @param error why calls do not pass any more; undefined when they pass again */
  readonly onBreaker: (state: BreakerState, error: unknown) => void;
}

/** What a new call counts for in the mean. */
const LATENCY_WEIGHT = 0.1;

export function createStorageMonitor({ standsOnOthers, clock, after, onCall, onBreaker }: StorageMonitorOptions): StorageMonitor {
  let breaker: CircuitBreaker | undefined;
  let lastFailure: StorageMonitor['lastFailure'];
  let [latencyMs, calls, failures] = [0, 0, 0];

  const noteFailure = (error: unknown) => {
    failures += 1;
    lastFailure = { message: AppError.is(error) ? error.message : 'internal error', at: new Date(clock()) };
  };
  /** What comes next begins with calls that pass. */
  const stop = () => {
    breaker?.stop();
    if (breaker && breaker.state !== 'closed') onBreaker('closed', undefined);
  };
  return {
    get breaker() {
      return breaker?.state ?? 'closed';
    },
    get retryAt() {
      return breaker?.retryAt;
    },
    get lastFailure() {
      return lastFailure;
    },
    get latencyMs() {
      return latencyMs;
    },
    get calls() {
      return calls;
    },
    get failures() {
      return failures;
    },
    watch(driver, enter) {
      stop();
      const probe = (maxMs: number | undefined) =>
        driver.stat(MOUNT_ROOT, maxMs === undefined ? { isPatient: true } : { signal: AbortSignal.timeout(maxMs) }).catch(asDeadline);
      const own = createCircuitBreaker({ clock, after, probe, onChange: onBreaker });
      breaker = own;
      return withObserver(driver, {
        begin: own.begin,
        enter,
        succeeded(elapsedMs) {
          calls += 1;
          if (elapsedMs !== undefined) latencyMs += (elapsedMs - latencyMs) * (latencyMs === 0 ? 1 : LATENCY_WEIGHT);
          onCall(false, elapsedMs);
          own.succeeded();
        },
        failed(error, call) {
          if (AppError.is(error, 'CANCELLED')) return;
          calls += 1;
          const isFailure = AppError.means(error, 'absent') || !AppError.is(error) || error.code === 'INTERNAL';
          if (isFailure) noteFailure(error);
          onCall(isFailure, undefined);
          if (!standsOnOthers()) own.failed(error, call);
        },
      });
    },
    noteFailure,
    stop,
  };
}

/** A look that was aborted counts as a storage that did not answer in time. */
function asDeadline(error: unknown): never {
  if (AppError.is(error, 'CANCELLED')) throw new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time', { cause: error });
  throw error;
}
