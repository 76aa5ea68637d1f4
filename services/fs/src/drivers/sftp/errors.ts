import { AppError } from '@wharf/errors';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** Codes of SSH_FXP_STATUS that tell us something (draft-ietf-secsh-filexfer-02, 7). */
export const STATUS = { EOF: 1, NO_SUCH_FILE: 2, PERMISSION_DENIED: 3, FAILURE: 4, OP_UNSUPPORTED: 8 } as const;

/** The server's answer that something could not be done. */
export class RefusedRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function isRefusal(error: unknown, status?: number): error is RefusedRequest {
  return error instanceof RefusedRequest && (status === undefined || error.status === status);
}

const CODE_OF_STATUS: ReadonlyMap<number, StorageErrorCode> = new Map<number, StorageErrorCode>([
  [STATUS.EOF, 'STORAGE_UNAVAILABLE'],
  [STATUS.NO_SUCH_FILE, 'ENTRY_NOT_FOUND'],
  [STATUS.PERMISSION_DENIED, 'PERMISSION_DENIED'],
  // BAD_MESSAGE: how OpenSSH says that a name is too long or not valid.
  [5, 'INVALID_ARGUMENT'],
  [6, 'STORAGE_UNAVAILABLE'],
  [7, 'STORAGE_UNAVAILABLE'],
  [STATUS.OP_UNSUPPORTED, 'UNSUPPORTED_OPERATION'],
]);

/** FAILURE says nothing of its reason; whoever can find it out does so before this. What is no refusal of the server stays itself. */
export function toAppError(error: unknown): unknown {
  if (!isRefusal(error)) return error;
  const code = CODE_OF_STATUS.get(error.status);
  if (code !== undefined) return storageError(code, error);
  return new AppError('FAILED_PRECONDITION', 'the server refused this and gave no reason', { cause: error });
}

/** What keeps a connection from coming about. `level` and `code` are how ssh2 tells errors apart. */
export function toConnectError(error: unknown, username: string): AppError {
  if (AppError.is(error)) return error;
  const level = error instanceof Error && 'level' in error ? error.level : undefined;
  if (level === 'client-authentication') {
    return new AppError('STORAGE_LOGIN_FAILED', `the server does not let ${username} in with this password or key`, { cause: error });
  }
  if (level === 'client-timeout') return new AppError('DEADLINE_EXCEEDED', 'the server did not answer in time', { cause: error });
  const text = level === 'handshake' ? 'the server and we have no way of encryption in common' : 'the server ended the connection';
  return new AppError('STORAGE_UNAVAILABLE', text, { cause: error });
}
