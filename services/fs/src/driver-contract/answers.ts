import { on } from 'node:events';
import { IncomingMessage } from 'node:http';
import type { Answer } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { gatherBytes, giveWay } from '@wharf/pace';
import { freeWhole } from './batches.ts';
import type { CallOptions, Entry, FileContent } from './storage-driver.ts';
import { abortError, badAnswer, largeThumbnail, storageError, throwIfAborted } from './storage-error.ts';

/** What is read of an answer that nobody needs, so that its connection can be used again. */
const MAX_DRAINED_BYTES = 256 * 1024;
/** A stream hands out all it has as one piece, up to megabytes; so much is read of XML or JSON in some milliseconds. */
const MAX_PIECE_BYTES = 32 * 1024;

/** A body that waits to be read: bytes [start, end) of a file. */
export interface AnsweredRange {
  readonly answer: Answer;
  readonly start: number;
  readonly end: number;
}

/** To be asked of a success to what carries content. @throws AppError STORAGE_UNAVAILABLE: the server cannot have all of it */
export function requireAllSent(answer: Answer): void {
  if (!answer.isEarly) return;
  answer.destroy();
  throw storageError('STORAGE_UNAVAILABLE', new Error('the server answered before it had all of the content'));
}

/** The bytes of an answer as they come. One that breaks off, or has more than it said, fails. */
export function rangeContent(entry: Entry, { answer, start, end }: AnsweredRange, { signal }: CallOptions): FileContent {
  const leave = stopsWith(signal, answer);
  return {
    entry,
    async *[Symbol.asyncIterator]() {
      let missing = end - start;
      try {
        throwIfAborted(signal);
        for await (const piece of answer) {
          missing -= piece.byteLength;
          if (missing < 0) throw badAnswer('more than the file has');
          if (piece.byteLength > 0) yield piece;
          throwIfAborted(signal);
        }
        if (missing > 0) throw badAnswer('a file that breaks off');
      } catch (error) {
        if (signal?.aborted) throw abortError(signal);
        throw AppError.is(error) ? error : badAnswer('a file that breaks off', error);
      } finally {
        leave();
        if (!answer.complete || missing !== 0) answer.destroy();
      }
    },
  };
}

/** The same of a file whose size nobody knows: it ends where its answer does, or after so many bytes. */
export function openEndContent(entry: Entry, answer: Answer, maxBytes: number, { signal }: CallOptions): FileContent {
  const leave = stopsWith(signal, answer);
  return {
    entry,
    async *[Symbol.asyncIterator]() {
      let missing = maxBytes;
      try {
        for await (const piece of boundedBody(answer, signal)) {
          const wanted = piece.subarray(0, Math.min(piece.byteLength, missing));
          missing -= wanted.byteLength;
          if (wanted.byteLength > 0) yield wanted;
          if (missing === 0) return;
        }
      } finally {
        leave();
      }
    },
  };
}

/** A content that nobody iterates holds its connection too: it goes when the call is not wanted any more. @returns ends that */
function stopsWith(signal: AbortSignal | undefined, answer: Answer): () => void {
  const stop = () => void answer.destroy(new Error('stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  return () => signal?.removeEventListener('abort', stop);
}

export function emptyContent(entry: Entry, { signal }: CallOptions): FileContent {
  return {
    entry,
    // biome-ignore lint/correctness/useYield: there is nothing to yield
    async *[Symbol.asyncIterator]() {
      throwIfAborted(signal);
    },
  };
}

/** A body that no signal ends, as of what goes on without its caller, has so long: its connection would be held for ever. */
const NOBODYS_MS = 600_000;

/**
 * The body of an answer until the signal aborts; its connection is free again, or closed, when it ends. Megabytes may be there in one turn of the
 * event loop: what is made of a piece gives way before the next one. A piece is only lent until the next one is asked for.
 *
 * @param nobodysMs another time than the standard one is given by tests only
 */
export async function* boundedBody(
  answer: Answer,
  signal: AbortSignal | undefined,
  maxBytes = Number.POSITIVE_INFINITY,
  nobodysMs = NOBODYS_MS,
): AsyncGenerator<Uint8Array, void> {
  const stop = () => void answer.destroy(new Error('stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  const late = () => void answer.destroy(new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time'));
  const timer = signal ? undefined : setTimeout(late, nobodysMs);
  let bytes = 0;
  try {
    throwIfAborted(signal);
    for await (const read of piecesOf(answer)) {
      for (let at = 0; at < read.byteLength; at += MAX_PIECE_BYTES) {
        const piece = read.subarray(at, at + MAX_PIECE_BYTES);
        bytes += piece.byteLength;
        if (bytes > maxBytes) return;
        yield piece;
        const room = giveWay();
        if (room) await room;
        throwIfAborted(signal);
      }
      // That of another answer is lent by its connection, which uses it again.
      if (answer instanceof IncomingMessage) freeWhole(read);
    }
  } catch (error) {
    if (signal?.aborted) throw abortError(signal);
    throw AppError.is(error) ? error : badAnswer('an answer that breaks off', error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    if (!answer.complete || bytes > maxBytes) answer.destroy();
  }
}

/**
 * The pieces of an answer as they came. A stream that is iterated puts those together that wait, and what they were put together from would gather: an answer
 * may be as large as all that V8 lets gather.
 */
async function* piecesOf(answer: Answer): AsyncGenerator<Uint8Array, void> {
  if (!(answer instanceof IncomingMessage) || answer.destroyed) return yield* answer;
  const pieces = on(answer, 'data', { close: ['end', 'close'], highWaterMark: 1, lowWaterMark: 1 });
  try {
    for await (const [piece] of pieces as AsyncIterable<[Buffer]>) yield piece;
    if (!answer.readableEnded) throw badAnswer('an answer that breaks off');
  } finally {
    // One that is left before its end would wait, and keep its connection.
    if (!answer.readableEnded) answer.destroy();
  }
}

/** All of a small picture. @throws AppError CONTENT_CORRUPT: it is larger */
export async function readThumbnail(answer: Answer, signal: AbortSignal | undefined, maxBytes: number): Promise<Uint8Array> {
  const gathered = gatherBytes(maxBytes);
  let bytes = 0;
  for await (const piece of boundedBody(answer, signal)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw largeThumbnail();
    gathered.add(piece);
  }
  return gathered.whole();
}

/** The text of a short answer. Of a longer one it is cut off. */
export async function readText(answer: Answer, signal: AbortSignal | undefined, maxBytes: number): Promise<string> {
  const gathered = gatherBytes(maxBytes);
  for await (const piece of boundedBody(answer, signal, maxBytes)) gathered.add(piece);
  return gathered.whole().toString('utf8');
}

/** Reads what nobody needs. */
export async function drain(answer: Answer, signal: AbortSignal | undefined): Promise<void> {
  for await (const _ of boundedBody(answer, signal, MAX_DRAINED_BYTES));
}
