import { AppError } from '@wharf/errors';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** RFC 4918, section 11, and RFC 9110, section 15. */
const BY_STATUS: Readonly<Record<number, StorageErrorCode>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'ENTRY_NOT_FOUND',
  405: 'PERMISSION_DENIED',
  // The folder above is not there.
  409: 'ENTRY_NOT_FOUND',
  410: 'ENTRY_NOT_FOUND',
  412: 'STALE_VERSION',
  413: 'QUOTA_EXCEEDED',
  414: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  416: 'RANGE_NOT_SATISFIABLE',
  423: 'FAILED_PRECONDITION',
  429: 'STORAGE_UNAVAILABLE',
  501: 'UNSUPPORTED_OPERATION',
  507: 'QUOTA_EXCEEDED',
};

/** A failed call in our terms. What the server writes beside its status is not looked at: it may be anything. */
export function toAppError(status: number, retryAfter?: string): AppError {
  const cause = new Error(`the server answered ${status}`);
  if (status === 401) return loginFailed(cause);
  if (status >= 300 && status < 400) {
    return new AppError('FAILED_PRECONDITION', 'the server sends us to another address: check address', { cause });
  }
  const code = BY_STATUS[status] ?? (status >= 500 ? 'STORAGE_UNAVAILABLE' : undefined);
  if (code === undefined) return new AppError('INTERNAL', 'the server does not take this call', { cause });
  const seconds = code === 'STORAGE_UNAVAILABLE' && /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  const error = storageError(code, cause);
  return seconds === undefined ? error : new AppError(code, error.message, { cause, details: { retryAfterMs: seconds * 1000 } });
}

export function loginFailed(cause?: unknown): AppError {
  return new AppError('STORAGE_LOGIN_FAILED', 'the server refuses username and password', { cause });
}
