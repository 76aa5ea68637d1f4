import { AppError } from '@wharf/errors';
import type { CallOptions, Entry, FileContent } from '../../driver-contract/storage-driver.ts';
import { abortError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { ObjectBody } from './client.ts';
import { badAnswer } from './errors.ts';

/** The bytes of an answer as they come. One that breaks off, or has more than it said, fails. */
export function objectContent(entry: Entry, { answer, start, end }: ObjectBody, { signal }: CallOptions): FileContent {
  const stop = () => void answer.destroy(new Error('stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
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
        signal?.removeEventListener('abort', stop);
        if (!answer.complete || missing !== 0) answer.destroy();
      }
    },
  };
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
