import type { Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Answer } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { drained } from '@wharf/pace';
import type { RateLimit } from './rate-limit.ts';

/** A source is stalled when less than this came in the whole stall time: a trickle is no download. */
const LEAST_BYTES = 1024;
/** Of what may be referred back to in zstd as a power of two, in bytes: 8 MiB, which is what nobody may need more of over HTTP (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;
const GZIP = new Set(['gzip', 'x-gzip']);

export interface BodyOptions {
  readonly signal: AbortSignal;
  /** Milliseconds without anything to speak of. */
  readonly stallMs: number;
  readonly limits: readonly RateLimit[];
}

/**
 * The bytes of an answer, until `expectedBytes` have come or the answer ends. Pieces are lent. Ending early, failing or aborting destroys
 * the answer.
 *
 * @param expectedBytes undefined: until the server ends the body in the way it announced.
 * @throws AppError STORAGE_UNAVAILABLE (broken off, or too short) | DEADLINE_EXCEEDED (stalled) | the signal's reason
 */
export async function* readBody(
  response: Answer,
  expectedBytes: number | undefined,
  { signal, stallMs, limits }: BodyOptions,
): AsyncGenerator<Uint8Array, void> {
  let stalled = false;
  let isWaiting = true;
  let countdownBytes = LEAST_BYTES;
  const abort = () => response.destroy(new Error('aborted'));
  const timer = setTimeout(() => {
    // Time in which the receiver is busy does not count against the server.
    if (!isWaiting) return void timer.refresh();
    stalled = true;
    abort();
  }, stallMs);
  signal.addEventListener('abort', abort, { once: true });
  let received = 0;
  try {
    if (signal.aborted) abort();
    if (expectedBytes === 0) return;
    for await (const chunk of response) {
      const bytes: Uint8Array = chunk;
      const wanted = expectedBytes === undefined ? bytes : bytes.subarray(0, expectedBytes - received);
      received += wanted.byteLength;
      countdownBytes -= wanted.byteLength;
      isWaiting = false;
      for (const limit of limits) await limit.take(wanted.byteLength, signal);
      yield wanted;
      isWaiting = true;
      if (countdownBytes <= 0) {
        timer.refresh();
        countdownBytes = LEAST_BYTES;
      }
      if (received === expectedBytes) {
        // The end of the body frees the connection for the next request.
        if (bytes.byteLength === wanted.byteLength && response.complete) return;
        if (bytes.byteLength > wanted.byteLength || Number(response.headers['content-length']) !== received) return;
      }
    }
    if (expectedBytes !== undefined && received < expectedBytes) throw brokenOff();
    if (!response.complete) throw brokenOff();
  } catch (error) {
    if (signal.aborted) throw AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'cancelled');
    if (stalled) throw new AppError('DEADLINE_EXCEEDED', 'the source stopped sending');
    throw AppError.is(error) ? error : brokenOff(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    if (!response.complete) response.destroy();
  }
}

function brokenOff(cause?: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'the source broke off', { cause });
}

/** Undoes a Content-Encoding. @throws AppError CONTENT_CORRUPT, also where something comes behind its end: it may belong to the file */
export async function* decoded(content: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array, void> {
  const decoder = decoderOf(encoding);
  let failure: unknown;
  let fedBytes = 0;
  const feed = async () => {
    for await (const chunk of content) {
      fedBytes += chunk.byteLength;
      // Whoever reads may have left while this chunk was waited for.
      if (!decoder.destroyed && !decoder.write(chunk)) await drained(decoder);
      if (decoder.destroyed) return;
    }
    decoder.end();
  };
  const feeding = feed().catch((error: unknown) => {
    failure = error;
    decoder.destroy();
  });
  try {
    for await (const chunk of decoder as Readable) yield chunk as Uint8Array;
    await feeding;
    if (failure) throw failure;
    // Of gzip all parts are read, and zeros behind them are none.
    if (!GZIP.has(encoding) && decoder.bytesWritten < fedBytes) throw new Error('there is more behind its end');
  } catch (error) {
    if (failure) throw failure;
    throw new AppError('CONTENT_CORRUPT', 'the source sent damaged compressed data', { cause: error });
  } finally {
    decoder.destroy();
  }
}

function decoderOf(encoding: string) {
  if (encoding === 'br') return createBrotliDecompress();
  if (encoding === 'zstd') return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } });
  return encoding === 'deflate' ? createInflate() : createGunzip();
}
