import type { ServerResponse } from 'node:http';
import type { AppError } from '@wharf/errors';

/** When a refused caller may ask again, in seconds. */
const RETRY_AFTER_S = 10;

/** Adds Retry-After to a refusal whose error passes soon: OVERLOADED. */
export function sayWhenToComeAgain(response: ServerResponse, { code }: AppError): void {
  if (code === 'OVERLOADED' && !response.headersSent) response.setHeader('Retry-After', String(RETRY_AFTER_S));
}
