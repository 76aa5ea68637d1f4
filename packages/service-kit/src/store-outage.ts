import { AppError } from '@wharf/errors';

export const STORE_AWAY = 'the store does not answer, try again in a moment';
/** @internal for its test */
export const STORE_FULL = 'the store has no room: whoever runs Wharf has to free some on its disk';
/** OutOfDiskSpace: https://www.mongodb.com/docs/manual/reference/error-codes/ */
const OUT_OF_DISK_SPACE = 14031;

/**
 * Names of the errors that the driver throws when it cannot reach the store, lost it, or was closed. A refusal by the store has another
 * name (MongoServerError).
 */
const OUTAGE =
  /^(Mongo(Network|ServerSelection|ServerClosed|TopologyClosed|NotConnected|ClientClosed|ConnectionPool|PoolCleared|PoolClosed|WaitQueue|Expired|OperationTimeout)|MongooseServerSelection|PoolCleared)/;
/** The driver passes some errors of its socket on unchanged. Only the stack tells that they are the driver's. */
const SOCKET_CODES: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET', 'ECONNREFUSED']);

/**
 * An outage of the store, and that it is full, as the AppError that it is (STORAGE_UNAVAILABLE), and so what ends work whose caller has gone (CANCELLED); everything
 * else as it was thrown.
 *
 * @param signal of the caller
 */
export function foreseen(error: unknown, signal?: AbortSignal): unknown {
  if (!(error instanceof Error) || AppError.is(error)) return error;
  if (signal?.aborted && (error === signal.reason || error.name === 'AbortError'))
    return new AppError('CANCELLED', 'the caller has gone', { cause: error });
  if (isStoreFull(error)) return new AppError('STORAGE_UNAVAILABLE', STORE_FULL, { cause: error });
  return isOutage(error) ? new AppError('STORAGE_UNAVAILABLE', STORE_AWAY, { cause: error }) : error;
}

/** Whether the store has no room for what was to be added. */
export function isStoreFull(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === OUT_OF_DISK_SPACE;
}

function isOutage(error: Error): boolean {
  // A bulk that got no answer wraps the reason.
  if (error.name === 'MongoBulkWriteError' && 'errorResponse' in error && error.errorResponse instanceof Error)
    return isOutage(error.errorResponse);
  if (OUTAGE.test(error.name)) return true;
  return SOCKET_CODES.has(codeOf(error)) && error.stack?.includes('/mongodb/') === true;
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}
