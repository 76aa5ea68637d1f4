import { Long } from 'bson';
import { MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { CommandError } from './command-error.ts';
import type { TimeLimit } from './time-limit.ts';

/** As MongoDB's default of cursorTimeoutMillis. */
const IDLE_TIMEOUT_MS = 600_000;
const MAX_CURSORS = 1000;
/** As MongoDB: documents of a first batch whose size was not asked for. */
const FIRST_BATCH = 101;
/** After so long, in milliseconds, a batch ends with what was found by then, be it nothing: others have their turn before the next one... */
const MAX_TURN_MS = 25;
/** ... but not before so many documents were looked at, however busy the machine is. */
const LEAST_LOOKS = 16;

/** An open result. */
interface Cursor {
  readonly namespace: string;
  readonly documents: Iterator<Buffer | undefined>;
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
  readonly #nowMs: () => number;
  #lastId = 0n;

  /** @param nowMs monotonic */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * The first batch of a result, and a cursor for the rest when there is one.
   *
   * @param documents undefined for one that was looked at and is not shown. @param batchSize undefined: 101 documents.
   */
  open(
    namespace: string,
    documents: Iterator<Buffer | undefined>,
    timeLimit: TimeLimit,
    batchSize: number | undefined,
    isSingleBatch: boolean,
  ): Batch {
    const cursor: Cursor = { namespace, documents, timeLimit, pending: undefined, lastUsedMs: this.#nowMs() };
    const { batch, isDone } = this.#take(cursor, batchSize ?? FIRST_BATCH, isSingleBatch ? Number.POSITIVE_INFINITY : MAX_TURN_MS);
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
    cursor.lastUsedMs = this.#nowMs();
    cursor.timeLimit.resume();
    try {
      const { batch, isDone } = this.#take(cursor, batchSize || Number.POSITIVE_INFINITY, MAX_TURN_MS);
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
    const oldest = this.#nowMs() - IDLE_TIMEOUT_MS;
    for (const [key, cursor] of this.#cursors) if (cursor.lastUsedMs < oldest) this.#cursors.delete(key);
  }

  /** Up to `count` documents of together at most 16 MiB, but at least one where that does not take too long. */
  #take(cursor: Cursor, count: number, mostMs: number): { batch: Buffer[]; isDone: boolean } {
    const batch: Buffer[] = [];
    const startedMs = this.#nowMs();
    let sizeBytes = 0;
    for (let looks = 1; count > 0; looks++) {
      if (cursor.pending === undefined) {
        const step = cursor.documents.next();
        if (step.done) return { batch, isDone: true };
        cursor.pending = step.value;
      }
      if (cursor.pending !== undefined) {
        const isFull = batch.length > 0 && sizeBytes + cursor.pending.length > MAX_DOCUMENT_BYTES;
        if (isFull || batch.length === count) break;
        batch.push(cursor.pending);
        sizeBytes += cursor.pending.length;
        cursor.pending = undefined;
      }
      if (looks >= LEAST_LOOKS && this.#nowMs() - startedMs > mostMs) break;
    }
    return { batch, isDone: false };
  }
}
