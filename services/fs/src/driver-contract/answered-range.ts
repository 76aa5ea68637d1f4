import type { Answer } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { AnsweredRange } from './answers.ts';
import { badAnswer, storageError } from './storage-error.ts';

/** A body that waits to be read, and the size of the file it is of. */
export interface AnsweredFile extends AnsweredRange {
  /** Of the whole file; undefined: the head does not say. */
  readonly sizeBytes: number | undefined;
}

/** Of a file before the range that was asked for, where the server answers with the whole file. */
const MAX_SKIPPED_BYTES = 8 * 1024 * 1024;

/**
 * Holds an answer to the range that was asked for. A server that knows no ranges gives its whole file, of which the stretch is taken.
 *
 * @param end exclusive; undefined: to the end @param knownBytes of the whole file, where something else has told it: an answer need not
 * @returns without an end where neither says it
 * @throws AppError STORAGE_UNAVAILABLE (no answer to this) | RANGE_NOT_SATISFIABLE | UNSUPPORTED_OPERATION (too far into a file without ranges)
 */
export function answeredRange(answer: Answer, start: number, end: number | undefined, knownBytes?: number): AnsweredFile {
  const { headers, statusCode } = answer;
  const lengthBytes = lengthOf(headers['content-length']);
  if (statusCode === 206) {
    const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers['content-range'] ?? '');
    const [first, last, sizeBytes] = (match ?? []).slice(1).map(Number);
    if (first === undefined || last === undefined || sizeBytes === undefined) throw badAnswer('no range');
    const isAsked = first === start && last + 1 === Math.min(end ?? sizeBytes, sizeBytes);
    if (!isAsked || (lengthBytes !== undefined && lengthBytes !== last + 1 - first)) throw badAnswer('another range');
    return { answer, start, end: last + 1, sizeBytes };
  }
  if (statusCode !== 200) throw badAnswer(`${statusCode} in the place of a file`);
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw badAnswer('a file in another encoding');
  const wholeBytes = lengthBytes ?? knownBytes ?? Number.POSITIVE_INFINITY;
  if (start === 0 && end === undefined) return { answer, start, end: wholeBytes, sizeBytes: lengthBytes };
  // The server knows no ranges.
  if (start > 0 && start >= wholeBytes) throw storageError('RANGE_NOT_SATISFIABLE');
  if (start > MAX_SKIPPED_BYTES) {
    throw new AppError('UNSUPPORTED_OPERATION', 'the server gives whole files only: this file cannot be read from there on');
  }
  const last = Math.min(end ?? wholeBytes, wholeBytes);
  // What goes to the end shows whether there is more of it than was said.
  return { answer: stretchOf(answer, start, end ?? Number.POSITIVE_INFINITY), start, end: last, sizeBytes: lengthBytes };
}

/** Bytes [start, end) of an answer that has more. @throws AppError RANGE_NOT_SATISFIABLE, at its end: it has not as many */
function stretchOf(answer: Answer, start: number, end: number): Answer {
  return {
    statusCode: answer.statusCode,
    headers: answer.headers,
    get complete() {
      return answer.complete;
    },
    destroy: (error) => answer.destroy(error),
    once: (event, run) => answer.once(event, run),
    async *[Symbol.asyncIterator]() {
      let at = 0;
      for await (const piece of answer) {
        const part = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
        at += piece.byteLength;
        if (part.byteLength > 0) yield part;
        if (at >= end) return;
      }
      if (start > 0 && at <= start) throw storageError('RANGE_NOT_SATISFIABLE');
    },
  };
}

function lengthOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
