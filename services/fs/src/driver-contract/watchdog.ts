import { AppError } from '@wharf/errors';
import { abortError, throwIfAborted } from './storage-error.ts';

/** Aborts its signal when nothing happened for too long while it was armed, or when the caller's signal aborts. */
export class Watchdog {
  readonly #abort = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuterAbort: () => void;
  #timer: NodeJS.Timeout | undefined;
  #limitMs = 0;
  #isArmed = false;
  #isPatient = false;
  #isOver = false;
  #stopWaiting: ((reason: unknown) => void) | undefined;

  constructor(outer: AbortSignal | undefined) {
    throwIfAborted(outer);
    this.#outer = outer;
    this.#onOuterAbort = () => {
      const reason = outer === undefined ? undefined : abortError(outer);
      if (this.#isPatient) this.#abort.abort(reason);
      else this.#end(reason);
    };
    outer?.addEventListener('abort', this.#onOuterAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  arm(limitMs: number): void {
    // What was asked may be answered when nobody waits any more.
    if (this.#isOver) return;
    this.#isArmed = true;
    if (this.#timer !== undefined && this.#limitMs === limitMs) return void this.#timer.refresh();
    clearTimeout(this.#timer);
    this.#limitMs = limitMs;
    this.#timer = setTimeout(() => this.#onTime(), limitMs);
  }

  /** Something happened: the time begins anew where it runs. */
  feed(): void {
    if (this.#isArmed) this.arm(this.#limitMs);
  }

  /**
   * From now on an abort by the caller is passed on, and its outcome waited for as long as the watchdog is armed: what is being published may have its
   * name already.
   */
  awaitOutcome(): void {
    this.#isPatient = true;
  }

  /** The timer stays for the next arm(): of a stream that is at each chunk. */
  disarm(): void {
    this.#isArmed = false;
  }

  /** The result of a step, or the reason of the abort, whichever comes first. One at a time. */
  guard<Result>(step: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#stopWaiting = reject;
      step.then(resolve, reject);
      if (this.signal.aborted) reject(abortError(this.signal));
    });
  }

  /** Lets go of the caller's signal. The own signal stays as it is. */
  dispose(): void {
    this.#isOver = true;
    this.disarm();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#outer?.removeEventListener('abort', this.#onOuterAbort);
  }

  #onTime(): void {
    this.#timer = undefined;
    if (this.#isArmed) this.#end(new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time'));
  }

  #end(reason: unknown): void {
    this.dispose();
    this.#abort.abort(reason);
    this.#stopWaiting?.(abortError(this.signal));
  }
}
