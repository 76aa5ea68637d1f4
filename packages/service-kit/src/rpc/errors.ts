import { AppError, ERROR_CODES, isErrorCode } from '@wharf/errors';
import { type CallContext, ClientError, type Metadata, ServerError, Status } from 'nice-grpc-common';
import { z } from 'zod';

/** Trailer that carries an AppError: the JSON of `{ code, details }` in UTF-8. */
const ERROR_TRAILER = 'wharf-error-bin';
/** gRFC A6: a negative pushback tells the client's transport not to retry; whether to retry is said by the error code. */
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';

const trailerSchema = z.object({ code: z.string().refine(isErrorCode), details: z.record(z.string(), z.unknown()) });

/** The gRPC form of an error, its code and details put into the call's trailer. */
export function toGrpcError(error: AppError, context: Pick<CallContext, 'trailer'>): ServerError {
  context.trailer.set(ERROR_TRAILER, Buffer.from(JSON.stringify({ code: error.code, details: error.details })));
  context.trailer.set(PUSHBACK_TRAILER, '-1');
  return new ServerError(ERROR_CODES[error.code].grpc as Status, error.message);
}

/** The error behind a failed call; one without our trailer came from the transport. */
export function fromGrpcError(error: unknown, trailer: Metadata | undefined, deadlinePassed: boolean): AppError {
  if (AppError.is(error)) return error;
  if (deadlinePassed) return new AppError('DEADLINE_EXCEEDED', 'the service took too long', { cause: error });
  if (error instanceof Error && error.name === 'AbortError') return new AppError('CANCELLED', 'the call was cancelled', { cause: error });
  if (!(error instanceof ClientError)) return AppError.from(error);
  const sent = trailer?.get(ERROR_TRAILER);
  if (sent !== undefined) {
    const parsed = trailerSchema.safeParse(JSON.parse(Buffer.from(sent).toString('utf8')));
    if (parsed.success) return new AppError(parsed.data.code, error.details, { details: parsed.data.details, cause: error });
  }
  if (error.code === Status.UNIMPLEMENTED) return new AppError('UNSUPPORTED_OPERATION', 'not implement', { cause: error });
  if (error.code === Status.UNAVAILABLE) return new AppError('STORAGE_UNAVAILABLE', 'a service cannot be reached', { cause: error });
  return new AppError('INTERNAL', 'internal error', { cause: error });
}
