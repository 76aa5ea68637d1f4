import type { DiskOperations } from './disk-operations.ts';
import type { DiskFailure } from './errors.ts';

/** What goes to a worker: a batch of calls, or the wish that one ends. */
export type DiskRequest = { readonly batch: readonly DiskCall[] } | { readonly cancel: number };

export interface DiskCall {
  /** Several callers who asked for the very same. */
  readonly ids: readonly number[];
  readonly operation: keyof DiskOperations;
  readonly values: readonly unknown[];
}

/** What comes back: answers as they are there, and that all of a batch but what waits for the disk has been done. */
export interface DiskReport {
  readonly answers: readonly DiskAnswer[];
  readonly isBatchDone: boolean;
}

export interface DiskAnswer {
  readonly ids: readonly number[];
  readonly result?: unknown;
  readonly error?: DiskFailure;
}
