import type { ErrorCode } from '@wharf/errors';
import type { StoreServerOptions } from './store-server.ts';

/** What the worker is started with. */
export interface WorkerOptions extends StoreServerOptions {
  /** One number in memory that both threads share: 1 once the file is closed. */
  readonly isClosed: Int32Array<SharedArrayBuffer>;
}

/** What the worker tells the thread that started it. */
export type FromWorker =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'stopped' };

/** The only thing the worker is told. */
export const STOP = 'stop';
