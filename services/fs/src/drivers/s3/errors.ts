import { AppError, type ErrorCode } from '@wharf/errors';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** What a store says of a failed call. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
export interface StoreAnswer {
  readonly status: number;
  /** Undefined where it says none: answers to HEAD have no body. */
  readonly code?: string | undefined;
  /** Where the store says that the bucket is. */
  readonly region?: string | undefined;
}

/** Failures that only an admin can mend, in words that say how. */
const FOR_ADMIN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  InvalidAccessKeyId: ['STORAGE_LOGIN_FAILED', 'the store does not know access_key_id'],
  SignatureDoesNotMatch: ['STORAGE_LOGIN_FAILED', 'the store refuses the signature: check secret_access_key, region and endpoint'],
  InvalidToken: ['STORAGE_LOGIN_FAILED', 'the store refuses session_token'],
  InvalidSecurity: ['STORAGE_LOGIN_FAILED', 'the store refuses the keys'],
  ExpiredToken: ['STORAGE_LOGIN_FAILED', 'session_token has expired: enter new temporary keys'],
  TokenRefreshRequired: ['STORAGE_LOGIN_FAILED', 'session_token has expired: enter new temporary keys'],
  AccountProblem: ['STORAGE_LOGIN_FAILED', 'the store says that there is a problem with the account'],
  NotSignedUp: ['STORAGE_LOGIN_FAILED', 'the account is not signed up at the store'],
  RequestTimeTooSkewed: [
    'STORAGE_LOGIN_FAILED',
    'the clock of this server and that of the store differ too much: set the clock of this server',
  ],
  NoSuchBucket: ['FAILED_PRECONDITION', 'there is no such bucket at this endpoint: check bucket, endpoint and force_path_style'],
  InvalidBucketName: ['FAILED_PRECONDITION', 'the store does not take this name of a bucket'],
  AllAccessDisabled: ['FAILED_PRECONDITION', 'the store has disabled all access to the bucket'],
  InvalidStorageClass: ['FAILED_PRECONDITION', 'the store does not have this storage_class'],
  InvalidObjectState: ['FAILED_PRECONDITION', 'the object is archived: the store has to restore it before it can be read'],
};

const BY_CODE: Readonly<Record<string, StorageErrorCode>> = {
  NoSuchKey: 'ENTRY_NOT_FOUND',
  NoSuchVersion: 'ENTRY_NOT_FOUND',
  AccessDenied: 'PERMISSION_DENIED',
  MethodNotAllowed: 'PERMISSION_DENIED',
  ObjectLocked: 'PERMISSION_DENIED',
  QuotaExceeded: 'QUOTA_EXCEEDED',
  EntityTooLarge: 'QUOTA_EXCEEDED',
  ServiceQuotaExceeded: 'QUOTA_EXCEEDED',
  XMinioStorageFull: 'QUOTA_EXCEEDED',
  KeyTooLongError: 'INVALID_ARGUMENT',
  XMinioInvalidObjectName: 'INVALID_ARGUMENT',
  InvalidRange: 'RANGE_NOT_SATISFIABLE',
  PreconditionFailed: 'STALE_VERSION',
  ConditionalRequestConflict: 'STALE_VERSION',
  BadDigest: 'CONTENT_CORRUPT',
  InvalidDigest: 'CONTENT_CORRUPT',
  XAmzContentSHA256Mismatch: 'CONTENT_CORRUPT',
  NotImplemented: 'UNSUPPORTED_OPERATION',
  SlowDown: 'STORAGE_UNAVAILABLE',
  ServiceUnavailable: 'STORAGE_UNAVAILABLE',
  InternalError: 'STORAGE_UNAVAILABLE',
  OperationAborted: 'STORAGE_UNAVAILABLE',
  RequestTimeout: 'STORAGE_UNAVAILABLE',
  NoSuchUpload: 'STORAGE_UNAVAILABLE',
};

const BY_STATUS: Readonly<Record<number, StorageErrorCode>> = {
  401: 'PERMISSION_DENIED',
  403: 'PERMISSION_DENIED',
  404: 'ENTRY_NOT_FOUND',
  405: 'PERMISSION_DENIED',
  409: 'STALE_VERSION',
  412: 'STALE_VERSION',
  416: 'RANGE_NOT_SATISFIABLE',
  429: 'STORAGE_UNAVAILABLE',
  501: 'UNSUPPORTED_OPERATION',
  507: 'QUOTA_EXCEEDED',
};

/** A failed call in our terms. What the store writes beside its code stays out of the text: it may say anything. */
export function toAppError(answer: StoreAnswer): AppError {
  const { status, code = '', region } = answer;
  const cause = new Error(`the store answered ${status} ${printable(code)}`);
  if ((status >= 300 && status < 400) || code === 'PermanentRedirect' || code === 'AuthorizationHeaderMalformed') {
    const where = region !== undefined && /^[a-z0-9-]{1,40}$/.test(region) ? `, the store says ${region}` : '';
    return new AppError('FAILED_PRECONDITION', `the bucket is at another address: check endpoint and region${where}`, { cause });
  }
  const forAdmin = Object.hasOwn(FOR_ADMIN, code) ? FOR_ADMIN[code] : undefined;
  if (forAdmin) return new AppError(forAdmin[0], forAdmin[1], { cause });
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_STATUS[status];
  if (known) return storageError(known, cause);
  return status >= 500
    ? storageError('STORAGE_UNAVAILABLE', cause)
    : new AppError('INTERNAL', 'the store does not take this call', { cause });
}

function printable(code: string): string {
  return code.replace(/[^\w.-]/g, '?').slice(0, 64);
}
