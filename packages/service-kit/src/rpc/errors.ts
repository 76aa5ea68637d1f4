import { AppError, ERROR_CODES, isErrorCode } from '@wharf/errors';
import { brokenBound, parseJson } from '@wharf/pace';
import { type CallContext, ClientError, type Metadata, ServerError, Status } from 'nice-grpc-common';
import { z } from 'zod';

/** Trailer that carries an AppError: the JSON of `{ code, details }` in UTF-8. */
const ERROR_TRAILER = 'wharf-error-bin';
/** gRFC A6: a negative pushback tells the client's transport not to retry; whether to retry is said by the error code. */
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';

/** No error of ours tells so much; to read what is very long or deep takes a second. */
const MAX_ERROR_BYTES = 256 * 1024;
const ERROR_BOUNDS = { maxDepth: 64, maxValues: 10_000 } as const;

const trailerSchema = z.object({ code: z.string().refine(isErrorCode), details: z.record(z.string(), z.unknown()) });

/** What is told of an error beside its message. */
export function errorBytes({ code, details }: AppError): Buffer {
  return Buffer.from(JSON.stringify({ code, details }));
}

/** The error of which these bytes tell; undefined where they are not ours. */
export function errorOf(bytes: Uint8Array, message: string, cause?: unknown): AppError | undefined {
  const isOurs = bytes.byteLength <= MAX_ERROR_BYTES && brokenBound(bytes, ERROR_BOUNDS) === undefined;
  const { success, data } = trailerSchema.safeParse(isOurs ? parseJson(Buffer.from(bytes).toString('utf8')) : undefined);
  return success ? new AppError(data.code, message, { details: data.details, cause }) : undefined;
}

/** The gRPC form of an error, its code and details put into the call's trailer. */
export function toGrpcError(error: AppError, context: Pick<CallContext, 'trailer'>): ServerError {
  context.trailer.set(ERROR_TRAILER, errorBytes(error));
  context.trailer.set(PUSHBACK_TRAILER, '-1');
  return new ServerError(ERROR_CODES[error.code].grpc as Status, error.message);
}

/** The error behind a failed call; one without our trailer came from the transport. */
export function fromGrpcError(error: unknown, trailer: Metadata | undefined, deadlinePassed: boolean): AppError {
  if (AppError.is(error)) return error;
  if (deadlinePassed) return deadlineExceeded(error);
  if (error instanceof Error && error.name === 'AbortError') return callCancelled(error);
  if (!(error instanceof ClientError)) return AppError.from(error);
  const sent = trailer?.get(ERROR_TRAILER);
  const told = sent === undefined ? undefined : errorOf(sent, error.details, error);
  if (told) return told;
  if (error.code === Status.UNIMPLEMENTED) return new AppError('UNSUPPORTED_OPERATION', 'not implement', { cause: error });
  if (error.code === Status.UNAVAILABLE) return serviceUnreachable(error);
  return new AppError('INTERNAL', 'internal error', { cause: error });
}

export const deadlineExceeded = (cause?: unknown) => new AppError('DEADLINE_EXCEEDED', 'the service took too long', { cause });
export const callCancelled = (cause?: unknown) => new AppError('CANCELLED', 'the call was cancelled', { cause });
export const serviceUnreachable = (cause?: unknown) => new AppError('STORAGE_UNAVAILABLE', 'a service cannot be reached', { cause });
