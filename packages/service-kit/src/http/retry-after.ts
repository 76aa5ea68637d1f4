import type { ServerResponse } from 'node:http';
import type { AppError } from '@wharf/errors';

/** When one who was sent away may ask again, in seconds. */
const RETRY_AFTER_S = 10;

/** Says in the head of a refusal when to come again, where its error is one that passes soon: OVERLOADED. */
export function sayWhenToComeAgain(response: ServerResponse, { code }: AppError): void {
  if (code === 'OVERLOADED' && !response.headersSent) response.setHeader('Retry-After', String(RETRY_AFTER_S));
}
