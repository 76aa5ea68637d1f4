import { AppError, type ErrorCode } from '@wharf/errors';
import { NoStorage, type StorageErrorCode, saidOfPart, storageError } from '../../driver-contract/storage-error.ts';

/** So much of a text is looked at. */
const TEXT_END = 200;

/** How the other gateway failed. */
export interface Failure {
  /** Of the envelope. */
  readonly code: number;
  readonly message: string;
  /** The header X-Error-Code, which Wharf has. */
  readonly name: string | undefined;
  readonly retryAfter?: string | undefined;
}

/** What an error of the other gateway is here, where it is not the same. */
const BY_NAME: ReadonlyMap<string, StorageErrorCode> = new Map<ErrorCode, StorageErrorCode>([
  ['MOUNT_NOT_FOUND', 'ENTRY_NOT_FOUND'],
  ['RECORD_NOT_FOUND', 'ENTRY_NOT_FOUND'],
  ['UNSAFE_PATH', 'INVALID_ARGUMENT'],
  // Its storage, not ours: another login here would not help.
  ['STORAGE_LOGIN_FAILED', 'STORAGE_UNAVAILABLE'],
  ['DEADLINE_EXCEEDED', 'STORAGE_UNAVAILABLE'],
  ['OVERLOADED', 'STORAGE_UNAVAILABLE'],
  ['RATE_LIMITED', 'STORAGE_UNAVAILABLE'],
  ['CANCELLED', 'STORAGE_UNAVAILABLE'],
  ['INTERNAL', 'STORAGE_UNAVAILABLE'],
]);

const SAME: ReadonlySet<string> = new Set<StorageErrorCode>([
  ...(['ENTRY_NOT_FOUND', 'ENTRY_EXISTS', 'NOT_A_DIRECTORY', 'IS_A_DIRECTORY', 'DIRECTORY_NOT_EMPTY', 'INVALID_ARGUMENT'] as const),
  ...(['RANGE_NOT_SATISFIABLE', 'UNSUPPORTED_OPERATION', 'PERMISSION_DENIED', 'STORAGE_READ_ONLY', 'QUOTA_EXCEEDED'] as const),
  ...(['STORAGE_UNAVAILABLE', 'FAILED_PRECONDITION', 'STALE_VERSION', 'CONTENT_CORRUPT'] as const),
]);

/** Where nothing but a text tells what happened: the family's own (docs/api-family.md#envelope). The first that fits counts. */
const BY_MESSAGE: readonly (readonly [RegExp, StorageErrorCode])[] = [
  [/(?:object|storage) not found/, 'ENTRY_NOT_FOUND'],
  [/not a folder$/, 'NOT_A_DIRECTORY'],
  [/not a file$/, 'IS_A_DIRECTORY'],
  [/\bexists$/, 'ENTRY_EXISTS'],
  [/not (?:implement|support)|upload not supported/, 'UNSUPPORTED_OPERATION'],
];

/** Nothing can be said to be removed there. It is no failure of the gateway, which other paths are asked of. */
export function noStorage(): AppError {
  return new AppError('FAILED_PRECONDITION', 'the gateway has no storage at this path now: it may be disabled there');
}

/** A refused call in our terms. Texts of the other side are looked at, never told. */
export function toAppError(failure: Failure): AppError {
  const { code, message, name, retryAfter = '' } = failure;
  const what = `the gateway answered ${code}${name === undefined ? '' : ` (${name.slice(0, 40)})`}`;
  const isUncovered = name === undefined ? /storage not found/.test(message.slice(-TEXT_END)) : name === 'MOUNT_NOT_FOUND';
  const cause = isUncovered ? new NoStorage(what) : new Error(what);
  if (name === 'CIRCULAR_MOUNT') return circle(cause);
  if (code === 401 || code === 402) return loginFailed(cause);
  const known = name === undefined ? undefined : (BY_NAME.get(name) ?? (SAME.has(name) ? (name as StorageErrorCode) : undefined));
  const told = known ?? byText(code, message);
  const retryAfterMs = told === 'STORAGE_UNAVAILABLE' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
  const error = storageError(told, cause);
  return retryAfterMs === undefined ? error : new AppError(told, error.message, { cause, details: { retryAfterMs } });
}

function byText(code: number, message: string): StorageErrorCode {
  const found = BY_MESSAGE.find(([pattern]) => pattern.test(message.slice(-TEXT_END)));
  if (found) return found[1];
  if (code === 403) return 'PERMISSION_DENIED';
  return code === 400 ? 'INVALID_ARGUMENT' : 'STORAGE_UNAVAILABLE';
}

function loginFailed(cause?: unknown): AppError {
  return new AppError('STORAGE_LOGIN_FAILED', 'the gateway refuses username and password, or the token', { cause });
}

function circle(cause?: unknown): AppError {
  return new AppError('CIRCULAR_MOUNT', 'the storage leads back to where it is asked from: gateways mount each other in a circle', {
    cause,
  });
}

/** An answer with an HTTP status that is no envelope: of a proxy before the gateway, or of something else. */
export function toStatusError(status: number): AppError {
  const cause = new Error(`the server answered ${status}`);
  if (status >= 300 && status < 500 && status !== 429) {
    return new AppError('FAILED_PRECONDITION', 'no gateway of this kind answers there: check url', { cause });
  }
  return storageError('STORAGE_UNAVAILABLE', cause);
}

const BY_DOWNLOAD_STATUS: Readonly<Record<number, StorageErrorCode>> = {
  401: 'PERMISSION_DENIED',
  403: 'PERMISSION_DENIED',
  404: 'ENTRY_NOT_FOUND',
  410: 'ENTRY_NOT_FOUND',
  416: 'RANGE_NOT_SATISFIABLE',
};

/** An address of a file that answered with no file. @param name the header X-Error-Code */
export function toDownloadError(status: number, name: string | undefined): AppError {
  const cause = new Error(`the address of the file answered ${status}`);
  if (name === 'CIRCULAR_MOUNT') return circle(cause);
  const error = storageError(BY_DOWNLOAD_STATUS[status] ?? 'STORAGE_UNAVAILABLE', cause);
  return name === undefined ? error : saidOfPart(error);
}

/** The address of a small picture of a file that answered with none. It tells nothing of the file. @param name as toDownloadError() has it */
export function toPictureError(status: number, name: string | undefined): AppError {
  const cause = new Error(`the address of the picture answered ${status}`);
  if (name === 'CIRCULAR_MOUNT') return circle(cause);
  return storageError(status === 429 || status >= 500 ? 'STORAGE_UNAVAILABLE' : 'UNSUPPORTED_OPERATION', cause);
}
