import { Long } from 'bson';
import { MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { CommandError } from './command-error.ts';
import type { TimeLimit } from './time-limit.ts';

/** As MongoDB's default of cursorTimeoutMillis. */
const IDLE_TIMEOUT_MS = 600_000;
const MAX_CURSORS = 1000;
/** As MongoDB: documents of a first batch whose size was not asked for. */
const FIRST_BATCH = 101;

/** An open result. */
interface Cursor {
  readonly namespace: string;
  readonly documents: Iterator<Buffer>;
  readonly timeLimit: TimeLimit;
  /** A document that did not fit the last batch. */
  pending: Buffer | undefined;
  lastUsedMs: number;
}

/** One answer of a cursor; `id` 0 means that nothing is left. */
export interface Batch {
  readonly field: 'firstBatch' | 'nextBatch';
  readonly id: Long;
  readonly namespace: string;
  readonly documents: readonly Buffer[];
}

/** All open cursors of the server. They belong to no connection and end when they are used up, killed or idle for 10 minutes. */
export class Cursors {
  readonly #cursors = new Map<string, Cursor>();
  #lastId = 0n;

  /** The first batch of a result, and a cursor for the rest when there is one. @param batchSize undefined: 101 documents. */
  open(namespace: string, documents: Iterator<Buffer>, timeLimit: TimeLimit, batchSize: number | undefined, isSingleBatch: boolean): Batch {
    const cursor: Cursor = { namespace, documents, timeLimit, pending: undefined, lastUsedMs: performance.now() };
    const { batch, isDone } = take(cursor, batchSize ?? FIRST_BATCH);
    if (isDone || isSingleBatch) return { field: 'firstBatch', id: Long.ZERO, namespace, documents: batch };
    if (this.#cursors.size >= MAX_CURSORS) throw new CommandError('TooManyOpenCursors', `at most ${MAX_CURSORS} cursors can be open`);
    const id = Long.fromBigInt(++this.#lastId);
    this.#cursors.set(id.toString(), cursor);
    timeLimit.pause();
    return { field: 'firstBatch', id, namespace, documents: batch };
  }

  /** @throws CommandError CursorNotFound; an error of the result itself closes the cursor. */
  next(id: Long, namespace: string, batchSize: number | undefined): Batch {
    const key = id.toString();
    const cursor = this.#cursors.get(key);
    if (cursor?.namespace !== namespace) throw new CommandError('CursorNotFound', `cursor id ${key} not found`);
    cursor.lastUsedMs = performance.now();
    cursor.timeLimit.resume();
    try {
      const { batch, isDone } = take(cursor, batchSize || Number.POSITIVE_INFINITY);
      cursor.timeLimit.pause();
      if (isDone) this.#cursors.delete(key);
      return { field: 'nextBatch', id: isDone ? Long.ZERO : id, namespace, documents: batch };
    } catch (error) {
      this.#cursors.delete(key);
      throw error;
    }
  }

  /** @returns false when there is no such cursor. */
  kill(id: Long, namespace: string): boolean {
    const key = id.toString();
    return this.#cursors.get(key)?.namespace === namespace && this.#cursors.delete(key);
  }

  /** The one that was opened last. */
  get last(): bigint {
    return this.#lastId;
  }

  /** Ends those that were opened after one. */
  killAfter(one: bigint): void {
    for (const key of this.#cursors.keys()) if (BigInt(key) > one) this.#cursors.delete(key);
  }

  killIdle(): void {
    const oldest = performance.now() - IDLE_TIMEOUT_MS;
    for (const [key, cursor] of this.#cursors) if (cursor.lastUsedMs < oldest) this.#cursors.delete(key);
  }
}

/** Up to `count` documents of together at most 16 MiB, but at least one. */
function take(cursor: Cursor, count: number): { batch: Buffer[]; isDone: boolean } {
  const batch: Buffer[] = [];
  let sizeBytes = 0;
  while (batch.length < count) {
    const document = cursor.pending ?? next(cursor.documents);
    cursor.pending = undefined;
    if (document === undefined) return { batch, isDone: true };
    if (batch.length > 0 && sizeBytes + document.length > MAX_DOCUMENT_BYTES) {
      cursor.pending = document;
      return { batch, isDone: false };
    }
    batch.push(document);
    sizeBytes += document.length;
  }
  if (count === 0) return { batch, isDone: false };
  cursor.pending = next(cursor.documents);
  return { batch, isDone: cursor.pending === undefined };
}

function next(documents: Iterator<Buffer>): Buffer | undefined {
  const step = documents.next();
  return step.done ? undefined : step.value;
}
