import { AppError, type ErrorCode, systemCodeOf } from '@wharf/errors';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** What the system says about a file, in our terms. Anything else is INTERNAL. */
const CODE_OF_ERRNO: ReadonlyMap<string, StorageErrorCode> = new Map(
  Object.entries({
    ENOENT: 'ENTRY_NOT_FOUND',
    ELOOP: 'ENTRY_NOT_FOUND',
    ENOTDIR: 'NOT_A_DIRECTORY',
    EISDIR: 'IS_A_DIRECTORY',
    EEXIST: 'ENTRY_EXISTS',
    ENOTEMPTY: 'DIRECTORY_NOT_EMPTY',
    EACCES: 'PERMISSION_DENIED',
    EPERM: 'PERMISSION_DENIED',
    EROFS: 'STORAGE_READ_ONLY',
    ENOSPC: 'QUOTA_EXCEEDED',
    EDQUOT: 'QUOTA_EXCEEDED',
    EFBIG: 'QUOTA_EXCEEDED',
    ENAMETOOLONG: 'INVALID_ARGUMENT',
    EINVAL: 'INVALID_ARGUMENT',
    EILSEQ: 'INVALID_ARGUMENT',
    EXDEV: 'UNSUPPORTED_OPERATION',
    ENOTSUP: 'UNSUPPORTED_OPERATION',
    EOPNOTSUPP: 'UNSUPPORTED_OPERATION',
    EBUSY: 'FAILED_PRECONDITION',
    ETXTBSY: 'FAILED_PRECONDITION',
    EIO: 'STORAGE_UNAVAILABLE',
    ESTALE: 'STORAGE_UNAVAILABLE',
    ENODEV: 'STORAGE_UNAVAILABLE',
    ENXIO: 'STORAGE_UNAVAILABLE',
    ENOMEM: 'STORAGE_UNAVAILABLE',
    EMFILE: 'STORAGE_UNAVAILABLE',
    ENFILE: 'STORAGE_UNAVAILABLE',
    ETIMEDOUT: 'STORAGE_UNAVAILABLE',
    EHOSTDOWN: 'STORAGE_UNAVAILABLE',
    ENOTCONN: 'STORAGE_UNAVAILABLE',
  } as const),
);

/** What the system says about a file, in our terms; undefined: nothing that we know. */
export function codeOfSystem(error: unknown): StorageErrorCode | undefined {
  const code = systemCodeOf(error);
  return code === undefined ? undefined : CODE_OF_ERRNO.get(code);
}

/** Whether the system says that nothing is at a path: none of its name, no folder on the way to it, or a circle of links. */
export function isAbsence(error: unknown): boolean {
  const code = codeOfSystem(error);
  return code === 'ENTRY_NOT_FOUND' || code === 'NOT_A_DIRECTORY';
}

/** The text of the system names paths of the disk: it goes into the cause and no further. */
export function toAppError(error: unknown): AppError {
  if (AppError.is(error)) return error;
  return storageError(codeOfSystem(error) ?? 'INTERNAL', error);
}

/** A failure as it goes from a thread to another. */
export interface DiskFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly cause: string;
}

export function diskFailure(error: unknown): DiskFailure {
  const { code, message, cause } = toAppError(error);
  return { code, message, cause: cause instanceof Error ? cause.message : AppError.from(cause).message };
}

export function fromDisk({ code, message, cause }: DiskFailure): AppError {
  return new AppError(code, message, { cause });
}
