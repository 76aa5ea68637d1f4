import type { ServerResponse } from 'node:http';
import type { AppError } from '@wharf/errors';

/** When a refused caller may ask again, in seconds. */
const RETRY_AFTER_S = 10;

/** Adds Retry-After to a refusal that passes soon: OVERLOADED, and any that says how long it may take (`details.retryAfterMs`). */
export function sayWhenToComeAgain(response: ServerResponse, { code, details }: Pick<AppError, 'code' | 'details'>): void {
  const { retryAfterMs } = details;
  if (response.headersSent) return;
  if (typeof retryAfterMs === 'number') response.setHeader('Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  else if (code === 'OVERLOADED') response.setHeader('Retry-After', String(RETRY_AFTER_S));
}
