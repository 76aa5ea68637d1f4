import type { ServerResponse } from 'node:http';
import { type AppError, ERROR_CODES, type ErrorCode } from '@wharf/errors';

/** The answer of every JSON route; its HTTP status is always 200. */
export interface Envelope {
  /** 200, or the class of the failure. */
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** Codes that a route answers instead of those of ERROR_CODES. */
export type EnvelopeCodes = Partial<Readonly<Record<ErrorCode, number>>>;

const SUCCESS_CODE = 200;

/** @param data undefined is answered as null. */
export function successEnvelope(data?: unknown, message = 'success'): Envelope {
  return { code: SUCCESS_CODE, message, data: data ?? null };
}

/**
 * The envelope of a failure. Nothing of an unforeseen error is shown.
 *
 * @param options.mask blackens what must not be shown in a message; see createPrivacyMask.
 * @param options.data what the route promises its clients with a failure; null otherwise.
 */
export function failureEnvelope(
  error: AppError,
  options: { codes?: EnvelopeCodes | undefined; mask?: ((message: string) => string) | undefined; data?: unknown } = {},
): Envelope {
  const code = options.codes?.[error.code] ?? ERROR_CODES[error.code].envelope;
  const message = error.code === 'INTERNAL' ? 'internal error' : error.message;
  return { code, message: options.mask ? options.mask(message) : message, data: options.data ?? null };
}

/** Begins an answer in JSON, as envelopes are; its HTTP status is 200 whatever its code. */
export function beginJson(response: ServerResponse, lengthBytes: number): void {
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': lengthBytes,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
}
