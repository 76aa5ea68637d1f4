import type { ErrorCode } from '@wharf/errors';

/** What the worker tells the thread that started it. */
export type FromWorker =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'stopped' };

/** The only thing the worker is told. */
export const STOP = 'stop';
