import { AppError } from '@wharf/errors';
import { hasInOrder, keptText } from '../../driver-contract/server-text.ts';
import { type StorageErrorCode, storageError } from '../../driver-contract/storage-error.ts';

/** The server's answer that something could not be done (RFC 959, 4.2). */
export class RefusedReply extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(keptText(text));
    this.code = code;
  }
}

/** Codes for a command that the server does not know, or not in this form. */
const UNKNOWN_COMMAND: ReadonlySet<number> = new Set([500, 501, 502, 503, 504]);

export function isRefusal(error: unknown): error is RefusedReply {
  return error instanceof RefusedReply;
}

/** The server does not know the command. */
export function isUnknownCommand(error: unknown): boolean {
  return isRefusal(error) && UNKNOWN_COMMAND.has(error.code);
}

/** Some servers answer a login with 530 then: `the maximum number of clients (8) for this user are already connected`. */
const isFull = (text: string) => hasInOrder(text, /\b(?:too many|maximum)\b/i, /\b(?:clients?|users?|connections?|sessions?)\b/i);

/** The server let the connection go before it said a word. */
export class NotGreeted extends Error {}

/** The server has as many connections as it wants. Some say nothing of it, as proftpd with `MaxInstances`. */
export function isTooMany(error: unknown): boolean {
  if (error instanceof NotGreeted) return true;
  return isRefusal(error) && (error.code === 421 || (error.code === 530 && isFull(error.message)));
}

const CODE_OF_REPLY: ReadonlyMap<number, StorageErrorCode> = new Map<number, StorageErrorCode>([
  [425, 'STORAGE_UNAVAILABLE'],
  [426, 'STORAGE_UNAVAILABLE'],
  [450, 'FAILED_PRECONDITION'],
  [451, 'STORAGE_UNAVAILABLE'],
  [452, 'QUOTA_EXCEEDED'],
  [501, 'INVALID_ARGUMENT'],
  [522, 'STORAGE_UNAVAILABLE'],
  [550, 'PERMISSION_DENIED'],
  [551, 'UNSUPPORTED_OPERATION'],
  [552, 'QUOTA_EXCEEDED'],
  [553, 'INVALID_ARGUMENT'],
]);

/** 550 says nothing of its reason; whoever can find it out does so before this. What is no refusal of the server stays itself. */
export function toAppError(error: unknown): unknown {
  if (error instanceof NotGreeted) return error.cause;
  if (!isRefusal(error)) return error;
  if (isTooMany(error)) return new AppError('STORAGE_UNAVAILABLE', 'the server takes no more connections', { cause: error });
  const code = CODE_OF_REPLY.get(error.code);
  if (code !== undefined) return storageError(code, error);
  if (error.code === 530) return new AppError('STORAGE_LOGIN_FAILED', 'the server has logged us out', { cause: error });
  return storageError(isUnknownCommand(error) ? 'UNSUPPORTED_OPERATION' : 'STORAGE_UNAVAILABLE', error);
}

/** What keeps a login from coming about. The texts of servers differ; that they want TLS first is what they name. */
export function toLoginError(error: unknown, username: string, hasTls: boolean): unknown {
  if (!isRefusal(error) || isTooMany(error)) return error;
  if (!hasTls && /\b(?:tls|ssl|encrypt\w*|secure)\b/i.test(error.message)) {
    return new AppError('STORAGE_LOGIN_FAILED', 'the server lets nobody in without TLS: choose another encryption', { cause: error });
  }
  return new AppError('STORAGE_LOGIN_FAILED', `the server does not let ${username} in with this password`, { cause: error });
}

/** What keeps TLS from coming about. */
export function toTlsError(error: unknown): AppError {
  if (AppError.is(error)) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/CERT|SIGNATURE|SELF_SIGNED|ALTNAME/.test(code))
    return new AppError('STORAGE_UNAVAILABLE', 'the certificate of the server is not valid', { cause: error });
  return storageError('STORAGE_UNAVAILABLE', error);
}
