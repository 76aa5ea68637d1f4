import { codeMeans, type ErrorCode, type Meaning } from './codes.ts';

const BRAND = Symbol.for('wharf.AppError');

/** Plain data for the caller, for example `{ path }`. Never a cause, a stack or a secret. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/**
 * The one class that is thrown across module borders on purpose.
 *
 * `message` and `details` may reach the caller; `cause` goes to the log and no further.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for an AppError of any copy of this package (which `instanceof` is not). */
  static is(value: unknown, code?: ErrorCode): value is AppError {
    return isBranded(value) && (code === undefined || value.code === code);
  }

  /** Whether the table says `meaning` of this failure; what is no AppError means nothing. */
  static means(value: unknown, meaning: Meaning): value is AppError {
    return isBranded(value) && codeMeans(value.code, meaning);
  }

  /** The error itself, or INTERNAL around whatever was thrown. */
  static from(value: unknown): AppError {
    return AppError.is(value) ? value : new AppError('INTERNAL', 'internal error', { cause: value });
  }
}

function isBranded(value: unknown): value is AppError {
  return value instanceof Error && BRAND in value;
}
