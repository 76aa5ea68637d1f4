import { AppError } from '@wharf/errors';
import { resolveRange } from './byte-range.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import type { ByteRange, CallOptions, Entry, FileContent, StorageDriver } from './storage-driver.ts';
import { storageError } from './storage-error.ts';
import { openOrLeave } from './while-open.ts';
import { pauseAfter } from './with-retry.ts';

/** Pauses before each new try of a read that broke, in milliseconds; a piece that comes begins them anew. */
const PAUSES_MS: readonly number[] = [100, 400, 1_600];

/** So much of what was handed on is read again before the rest, where no version says that both are of one file. */
const OVERLAP_BYTES = 4_096;

/**
 * A read that breaks midway, by a failure that means `glitch`, goes on where it was, as long as the file is still the one that was opened: by its
 * version, or where it has none by size and time, and by the last of what had come, which must come again. A file that was replaced meanwhile ends the read
 * with the failure.
 */
export function withResumedReads(driver: StorageDriver, pausesMs = PAUSES_MS): StorageDriver {
  return decorated({
    ...operationsOf(driver),
    async read(file, range, options) {
      const content = await driver.read(file, range, options);
      if (content.whole !== undefined) return content;
      const reopen = (next: ByteRange, signal: AbortSignal) => driver.read(file, next, { ...options, signal });
      return { entry: content.entry, [Symbol.asyncIterator]: () => resumed(content, range, reopen, pausesMs, options) };
    },
  });
}

async function* resumed(
  first: FileContent,
  range: ByteRange | undefined,
  reopen: (range: ByteRange, signal: AbortSignal) => Promise<FileContent>,
  pausesMs: readonly number[],
  options: CallOptions | undefined,
): AsyncGenerator<Uint8Array, void> {
  const { start, end } = resolveRange(range, first.entry.sizeBytes ?? Number.POSITIVE_INFINITY);
  let content: AsyncIterable<Uint8Array> = first;
  let readBytes = 0;
  let tries = 0;
  /** The last of what was handed on. */
  let last: Uint8Array = new Uint8Array(0);
  for (;;) {
    try {
      for await (const piece of content) {
        tries = 0;
        readBytes += piece.byteLength;
        if (first.entry.version === undefined) last = lastOf(last, piece);
        yield piece;
      }
      return;
    } catch (error) {
      const pauseMs = pausesMs[tries];
      const offsetBytes = start + readBytes;
      // All of it had come.
      if (offsetBytes >= end && AppError.means(error, 'glitch')) return;
      if (pauseMs === undefined) throw error;
      tries += 1;
      await pauseAfter(error, pauseMs, options?.signal);
      const from = offsetBytes - last.byteLength;
      const next = { offsetBytes: from, lengthBytes: Number.isFinite(end) ? end - from : undefined };
      // What is of another file nobody reads: it would keep its connection for ever.
      const rest = await openOrLeave(options?.signal, async (signal) => {
        const again = await reopen(next, signal);
        return isSameVersion(first.entry, again.entry) ? again : undefined;
      }).catch((again: unknown) => {
        if (!AppError.means(again, 'glitch')) throw error;
        return failing(first.entry, again);
      });
      if (rest === undefined) throw error;
      content = behind(last, rest);
    }
  }
}

/** Copied: a piece is lent. */
function lastOf(before: Uint8Array, piece: Uint8Array): Uint8Array {
  const both = piece.byteLength >= OVERLAP_BYTES ? Buffer.from(piece.subarray(-OVERLAP_BYTES)) : Buffer.concat([before, piece]);
  return both.subarray(-OVERLAP_BYTES);
}

/** The rest of a content. @throws AppError CONTENT_CORRUPT: it does not begin with what came before, all of it */
async function* behind(before: Uint8Array, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let left = before;
  for await (const piece of content) {
    const again = Math.min(left.byteLength, piece.byteLength);
    if (Buffer.compare(left.subarray(0, again), piece.subarray(0, again)) !== 0) throw storageError('CONTENT_CORRUPT');
    left = left.subarray(again);
    if (piece.byteLength > again) yield piece.subarray(again);
  }
  if (left.byteLength > 0) throw storageError('CONTENT_CORRUPT');
}

/** A failure to open the rest is met as one of reading it: it may pass too. */
function failing(entry: Entry, error: unknown): FileContent {
  return {
    entry,
    // biome-ignore lint/correctness/useYield: it only fails
    async *[Symbol.asyncIterator]() {
      throw error;
    },
  };
}

function isSameVersion(opened: Entry, now: Entry): boolean {
  return opened.version === now.version && opened.sizeBytes === now.sizeBytes && opened.modifiedAt.getTime() === now.modifiedAt.getTime();
}
