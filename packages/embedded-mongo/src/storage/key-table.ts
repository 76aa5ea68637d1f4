import type { StatementSync } from 'node:sqlite';
import type { StoreFile } from './store-file.ts';

/** Keys from `from` (inclusive) to `to` (exclusive), in byte order. */
export interface KeyRange {
  readonly from: Buffer;
  readonly to: Buffer;
}

/** A place in a scan: the entry that was seen last. */
interface Position {
  readonly key: Uint8Array;
  readonly record: number;
}

const FIRST_PAGE = 16;
const PAGE = 512;

/** Ordered access to one table of (key, record): an index's entries, or the documents by their `_id`. */
export class KeyTable {
  readonly #file: StoreFile;
  readonly #table: string;
  readonly #key: string;
  readonly #pages = new Map<string, StatementSync>();

  constructor(file: StoreFile, table: string, keyColumn: string) {
    this.#file = file;
    this.#table = table;
    this.#key = keyColumn;
  }

  /**
   * The records of a range in key order, read in pages: no statement stays open between two steps, so changes may come in between. A record
   * that is added or moved behind the last position is then seen, one that is removed is not.
   *
   * @param isGone tells that the table was dropped in between; the scan then ends by throwing what `onGone` makes.
   */
  *records(range: KeyRange, reverse: boolean, assertPresent: () => void): Generator<number> {
    let last: Position | undefined;
    for (let size = FIRST_PAGE; ; size = PAGE) {
      assertPresent();
      const rows = this.#page(range, reverse, last, size);
      for (const { key, record } of rows) {
        yield record;
        last = { key, record };
      }
      if (rows.length < size) return;
    }
  }

  /** How many entries a range has, up to `most`. */
  count({ from, to }: KeyRange, most: number): number {
    const entries = `SELECT 1 FROM ${this.#table} WHERE ${this.#key} >= ? AND ${this.#key} < ? LIMIT ?`;
    const row: unknown = this.#statement(`SELECT count(*) FROM (${entries})`).get(from, to, most);
    return Number(firstColumn(row));
  }

  #page(range: KeyRange, reverse: boolean, last: Position | undefined, size: number): Position[] {
    const key = this.#key;
    const order = reverse ? `ORDER BY ${key} DESC, record DESC` : `ORDER BY ${key}, record`;
    const columns = `SELECT ${key}, record FROM ${this.#table} WHERE`;
    if (last === undefined) {
      const first = this.#statement(`${columns} ${key} >= ? AND ${key} < ? ${order} LIMIT ?`);
      return first.all(range.from, range.to, size).map(readPosition);
    }
    const next = reverse
      ? this.#statement(`${columns} ${key} >= ? AND (${key}, record) < (?, ?) ${order} LIMIT ?`)
      : this.#statement(`${columns} ${key} < ? AND (${key}, record) > (?, ?) ${order} LIMIT ?`);
    return next.all(reverse ? range.from : range.to, last.key, last.record, size).map(readPosition);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#pages.get(sql);
    if (statement === undefined) {
      statement = this.#file.prepare(sql);
      this.#pages.set(sql, statement);
    }
    return statement;
  }
}

function readPosition(row: unknown): Position {
  if (Array.isArray(row)) {
    const [key, record]: unknown[] = row;
    if (key instanceof Uint8Array && typeof record === 'number') return { key, record };
  }
  throw new Error('an index entry is unreadable');
}

/** What a statement that asks for one value answered. */
export function firstColumn(row: unknown): unknown {
  return Array.isArray(row) ? row[0] : undefined;
}
