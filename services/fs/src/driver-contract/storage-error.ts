import { AppError, type ErrorCode } from '@wharf/errors';

/** What drivers say about each failure: one text for all of them, the family's own where clients know one (docs/api-family.md#envelope). */
const STORAGE_ERROR_TEXTS = {
  ENTRY_NOT_FOUND: 'object not found',
  ENTRY_EXISTS: 'file exists',
  NOT_A_DIRECTORY: 'not a folder',
  IS_A_DIRECTORY: 'not a file',
  DIRECTORY_NOT_EMPTY: 'the folder is not empty',
  RANGE_NOT_SATISFIABLE: 'the range begins behind the end of the file',
  INVALID_ARGUMENT: 'the storage cannot do this with this path',
  UNSUPPORTED_OPERATION: 'not support',
  PERMISSION_DENIED: 'the storage does not allow this',
  STORAGE_READ_ONLY: 'the storage is read-only',
  QUOTA_EXCEEDED: 'the storage is full',
  STORAGE_UNAVAILABLE: 'the storage is not available',
  FAILED_PRECONDITION: 'the entry is in use',
  STALE_VERSION: 'the folder has changed',
  CONTENT_CORRUPT: 'the content is not what was announced',
  CANCELLED: 'cancelled',
  INTERNAL: 'internal error',
} as const satisfies Partial<Record<ErrorCode, string>>;

export type StorageErrorCode = keyof typeof STORAGE_ERROR_TEXTS;

export function storageError(code: StorageErrorCode, cause?: unknown): AppError {
  return new AppError(code, STORAGE_ERROR_TEXTS[code], { cause });
}

/** The folder that is the storage is not there: its disk may not be mounted. */
export function rootIsGone(cause?: unknown): AppError {
  return storageError('STORAGE_UNAVAILABLE', new Error('the root folder is gone', { cause }));
}

/** Why something is not there: no storage of another gateway covers its path now. One that is disabled there may show it again. */
export class NoStorage extends Error {}

/** Whether an entry is not there because a gateway has no storage there. */
export function isNoStorage(error: unknown): boolean {
  return AppError.is(error, 'ENTRY_NOT_FOUND') && isCausedBy(error, (each) => each instanceof NoStorage);
}

/**
 * Whether a root that is missing means that its storage is away. That of a storage that stands on others is a folder like any, which somebody may have renamed:
 * it is missing, while there is a storage that can say so. Where that is away itself, it tells.
 */
export function isRootAway(missing: unknown, standsOnOthers: boolean): boolean {
  return !standsOnOthers || isNoStorage(missing);
}

/** Whether nothing is at a path: none of its name, or no folder on the way to it. */
export function isNotThere(error: unknown): error is AppError {
  return AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY');
}

/** An answer that is not what the protocol has. It may be somebody else who answers, or a glitch on the way. */
export function badAnswer(what: string, cause?: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', `the store answers with what was not asked for: ${what}`, { cause });
}

/** The storage has a picture of a file that is no small one. */
export function largeThumbnail(): AppError {
  return new AppError('CONTENT_CORRUPT', 'the picture of the storage is too large for a thumbnail');
}

/** Whether nobody knows what became of a call. */
export function isAway(error: unknown): boolean {
  return AppError.is(error, 'STORAGE_UNAVAILABLE') || AppError.is(error, 'DEADLINE_EXCEEDED');
}

/** What storages have said that answer, of what they show. */
const said = new WeakSet<Error>();

/** Marks what a storage says that answers: what was asked for is away, or the storage could not do it, and itself it is there. */
export function saidOfPart(error: AppError): AppError {
  said.add(error);
  return error;
}

/** Whether a storage itself gave no answer: others who ask it for something else may get none either. Not where a storage said so that is there. */
export function isUnanswered(error: unknown): error is AppError {
  return AppError.means(error, 'absent') && !isSaidOfPart(error);
}

/** Whether a storage that answers said so of what it shows. */
export function isSaidOfPart(error: unknown): boolean {
  return isCausedBy(error, (each) => said.has(each));
}

/** Whether that is so of an error, or of what it was made of. */
function isCausedBy(error: unknown, test: (each: Error) => boolean): boolean {
  for (let each = error; each instanceof Error; each = each.cause) if (test(each)) return true;
  return false;
}

/** Something has lost its name, and lies under one of ours until it has it again. Callers of a driver get the cause. */
export class Lost extends Error {
  constructor(cause: unknown) {
    super('the file has lost its name', { cause });
  }
}

/** Throws CANCELLED for an aborted signal, or the AppError that is the reason of the abort. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

export function abortError(signal: AbortSignal): AppError {
  const reason: unknown = signal.reason;
  return AppError.is(reason) ? reason : storageError('CANCELLED', reason);
}
