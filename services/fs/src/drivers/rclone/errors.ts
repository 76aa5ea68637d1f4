import { AppError } from '@wharf/errors';
import { hasInOrder, keptText } from '../../driver-contract/server-text.ts';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** What rclone (fs/fs.go) and its library for SMB say, in the order in which it is looked for. Its numbers tell two kinds of failure only. */
const BY_TEXT: readonly (readonly [RegExp | ((text: string) => boolean), StorageErrorCode])[] = [
  [/directory trying to be deleted is not empty|directory not empty/i, 'DIRECTORY_NOT_EMPTY'],
  [/is a directory/i, 'IS_A_DIRECTORY'],
  // Of an SFTP server without a shell, and without `statvfs`.
  [(text) => hasInOrder(text, /about call failed/i, /not supported/i), 'UNSUPPORTED_OPERATION'],
  // Of a file that was taken for a folder.
  [/not a directory|directory name is invalid/i, 'NOT_A_DIRECTORY'],
  [(text) => hasInOrder(text, /readdir /i, /not supported|invalid parameter/i), 'NOT_A_DIRECTORY'],
  [
    /NoSuchBucket|NoSuchKey|object not found|directory not found|file does not exist|no such file|object (?:name|path) not found/i,
    'ENTRY_NOT_FOUND',
  ],
  [/file (?:already )?exists|object name already exists|already exists/i, 'ENTRY_EXISTS'],
  [/sharing violation|shar(?:e|ing) access flags|cannot access the file|incompatible share access|delete.pending/i, 'FAILED_PRECONDITION'],
  [/disk is full|no space left|not enough space|insufficient storage|quota/i, 'QUOTA_EXCEEDED'],
  [/write.protected|read.only/i, 'STORAGE_READ_ONLY'],
  [/permission denied|access is denied|access ?denied|forbidden|has requested access to an object/i, 'PERMISSION_DENIED'],
  [/object name invalid|name is invalid|name too long|syntax is incorrect/i, 'INVALID_ARGUMENT'],
];

const LOGIN_FAILED =
  /attempted logon is invalid|bad username or authentication|account (?:is|has been|has) (?:currently )?(?:disabled|locked|expired)|password (?:has )?(?:expired|must change)|logon failure|\b401\b|unauthorized|InvalidAccessKeyId|SignatureDoesNotMatch|invalid_(?:grant|client)|(?:login|password) incorrect|530 |unable to authenticate|cannot fetch token/i;
const NO_SHARE = /share name cannot be found/i;

/**
 * What rclone answers in our terms. What nobody knows is a failure that may pass.
 * @param isOurs whether it is a child of ours, which knows our password
 */
export function toAppError(status: number, body: string, isOurs = true): AppError {
  const text = keptText(body);
  const cause = new Error(`rclone answered ${status}: ${text}`);
  if (status === 401 || status === 403) {
    return isOurs
      ? new AppError('INTERNAL', 'rclone does not know us', { cause })
      : new AppError('STORAGE_LOGIN_FAILED', 'that rclone does not let us in', { cause });
  }
  if (LOGIN_FAILED.test(text)) {
    return new AppError('STORAGE_LOGIN_FAILED', 'the server does not let this username in with this password', { cause });
  }
  if (NO_SHARE.test(text)) return new AppError('FAILED_PRECONDITION', 'the server has no share of this name', { cause });
  const [, code] = BY_TEXT.find(([says]) => (says instanceof RegExp ? says.test(text) : says(text))) ?? [];
  return storageError(code ?? 'STORAGE_UNAVAILABLE', cause);
}

/** How what rclone says of a connection ends that it had kept, and that is none any more. Before it stand names of files. */
const BROKEN = /(?:broken pipe|connection reset by peer|use of closed network connection|\bEOF)$/i;

/** Whether a call failed for a connection that had broken, and may find another one. */
export function isBrokenConnection(error: unknown): boolean {
  return AppError.is(error, 'STORAGE_UNAVAILABLE') && error.cause instanceof Error && BROKEN.test(error.cause.message.trimEnd());
}

/** Whether an SFTP server did not do what it was asked, and has no word for the reason: of a folder that is to go, that something is in it. */
export function isUnexplained(error: unknown): boolean {
  return AppError.is(error, 'STORAGE_UNAVAILABLE') && error.cause instanceof Error && error.cause.message.includes('SSH_FX_FAILURE');
}

/** What rclone says of a folder that it would have moved file by file, where it has no time for that. */
const OUT_OF_TIME = /max transfer duration reached/i;

/** Whether a folder was not moved, as its storage does not do so in one step now. */
export function isFileByFile(error: unknown): boolean {
  return AppError.is(error, 'STORAGE_UNAVAILABLE') && error.cause instanceof Error && OUT_OF_TIME.test(error.cause.message);
}
