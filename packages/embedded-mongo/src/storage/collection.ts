import type { StatementSync } from 'node:sqlite';
import { Int32 } from 'bson';
import { decodeStored } from '../bson/decode.ts';
import { encodeValue, KeyWriter } from '../bson/key-encoding.ts';
import { showValue } from '../bson/show-value.ts';
import { type Doc, getField, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { firstColumn, KeyTable } from './key-table.ts';
import { idIndex, type PreparedKeys, type ReadableIndex, type SecondaryIndex } from './secondary-index.ts';
import type { StoreFile } from './store-file.ts';

const PAGE = 512;
/** Kinds of scans that are told apart. */
const MAX_SCANS = 100;

/** Counts documents over all collections and refuses one too many. */
export interface DocumentBudget {
  /** @param collection the name of whose document it is. @throws CommandError OutOfDiskSpace at the limit. */
  take(collection: string): void;
  give(count: number): void;
}

/** A document with its number in the file; the numbers grow in order of insertion. */
export interface StoredDocument {
  readonly record: number;
  readonly doc: Doc;
  readonly body: Buffer;
}

/** One collection: its documents, and all its indexes kept equal to them. */
export class Collection {
  readonly id: number;
  readonly database: string;
  readonly name: string;
  readonly indexes: SecondaryIndex[] = [];
  /** How many documents were read since the collection was opened. */
  scanned = 0;
  /** How often a query found no index to narrow it down, by the fields it asked about. */
  readonly scans = new Map<string, number>();
  readonly idIndex: ReadableIndex;
  readonly #file: StoreFile;
  readonly #budget: DocumentBudget;
  readonly #writer = new KeyWriter();
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #delete: StatementSync;
  readonly #read: StatementSync;
  readonly #findId: StatementSync;
  readonly #page: StatementSync;
  readonly #countAll: StatementSync;
  #count = 0;
  #isGone = false;

  constructor(file: StoreFile, budget: DocumentBudget, row: { id: number; database: string; name: string }) {
    this.id = row.id;
    this.database = row.database;
    this.name = row.name;
    this.#file = file;
    this.#budget = budget;
    const table = documentsTable(row.id);
    this.idIndex = idIndex(new KeyTable(file, table, 'id_key'), this.assertPresent);
    this.#insert = file.prepare(`INSERT INTO ${table} (id_key, body) VALUES (?, ?)`);
    this.#update = file.prepare(`UPDATE ${table} SET body = ? WHERE record = ?`);
    this.#delete = file.prepare(`DELETE FROM ${table} WHERE record = ?`);
    this.#read = file.prepare(`SELECT body FROM ${table} WHERE record = ?`);
    this.#findId = file.prepare(`SELECT record FROM ${table} WHERE id_key = ?`);
    this.#page = file.prepare(`SELECT record FROM ${table} WHERE record > ? ORDER BY record LIMIT ${PAGE}`);
    this.#countAll = file.prepare(`SELECT count(*) FROM ${table}`);
  }

  get namespace(): string {
    return `${this.database}.${this.name}`;
  }

  get count(): number {
    return this.#count;
  }

  noteScan(paths: readonly string[]): void {
    const fields = [...new Set(paths)].sort().join(' ');
    const times = this.scans.get(fields);
    if (times !== undefined || this.scans.size < MAX_SCANS) this.scans.set(fields, (times ?? 0) + 1);
  }

  readonly assertPresent = (): void => {
    if (this.#isGone) throw new CommandError('QueryPlanKilled', `the collection '${this.namespace}' was dropped or reloaded`);
  };

  get isPresent(): boolean {
    return !this.#isGone;
  }

  /** Takes over what the file holds. An index that is still the same stays in place. */
  refresh(indexes: readonly SecondaryIndex[]): void {
    const kept = this.indexes.filter((index) => indexes.some(({ id, name }) => id === index.id && name === index.name));
    for (const index of this.indexes) if (!kept.includes(index)) index.retire();
    for (const index of kept) index.refresh(indexes.find(({ id }) => id === index.id)?.multikey ?? index.multikey);
    const added = indexes.filter(({ id }) => !kept.some((index) => index.id === id));
    this.indexes.splice(0, this.indexes.length, ...kept, ...added);
    this.#count = Number(firstColumn(this.#countAll.get()));
  }

  /** To be called when the collection is dropped, or replaced by a fresh reading of the file. */
  retire(): void {
    this.#isGone = true;
    for (const index of this.indexes) index.retire();
  }

  /** @throws CommandError DuplicateKey, CannotIndexParallelArrays, OutOfDiskSpace. Nothing is written then. */
  insert(doc: Doc, body: Buffer): void {
    const id = getField(doc, '_id') ?? null;
    const idKey = encodeValue(id);
    if (this.#findId.get(idKey) !== undefined) throw this.#duplicateId(id);
    const prepared = this.indexes.map((index) => index.prepareKeys(doc, -1, this.#writer, this.namespace));
    this.#budget.take(this.name);
    this.#file.changed();
    const record = Number(this.#insert.run(idKey, body).lastInsertRowid);
    this.#count++;
    for (const [i, index] of this.indexes.entries()) index.replaceKeys(record, undefined, prepared[i]);
  }

  /** Replaces a document; its `_id` must be the same. @throws CommandError as {@link insert}. Nothing is written then. */
  update(stored: StoredDocument, doc: Doc, body: Buffer): void {
    const touched = this.indexes.filter((index) => index.mayChange(stored.doc, doc));
    const after = touched.map((index) => index.prepareKeys(doc, stored.record, this.#writer, this.namespace));
    const before = touched.map((index) => this.#keysOf(index, stored));
    this.#file.changed();
    this.#update.run(body, stored.record);
    for (const [i, index] of touched.entries()) index.replaceKeys(stored.record, before[i], after[i]);
  }

  remove(stored: StoredDocument): void {
    const before = this.indexes.map((index) => this.#keysOf(index, stored));
    this.#file.changed();
    this.#delete.run(stored.record);
    for (const [i, index] of this.indexes.entries()) index.replaceKeys(stored.record, before[i], undefined);
    this.#count--;
    this.#budget.give(1);
  }

  /** @returns undefined when the record was removed. @throws CommandError QueryPlanKilled when the collection was. */
  read(record: number): StoredDocument | undefined {
    this.assertPresent();
    this.scanned++;
    const body = firstColumn(this.#read.get(record));
    if (!(body instanceof Uint8Array)) return undefined;
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { record, doc: decodeStored(bytes), body: bytes };
  }

  /** All records in order of insertion; safe against changes between two steps, as {@link KeyTable.records}. */
  *records(): Generator<number> {
    for (let last = 0; ; ) {
      this.assertPresent();
      const rows = this.#page.all(last);
      for (const row of rows) {
        last = Number(firstColumn(row));
        yield last;
      }
      if (rows.length < PAGE) return;
    }
  }

  /** Fills an index that was just created. @throws CommandError DuplicateKey, CannotIndexParallelArrays */
  buildIndex(index: SecondaryIndex): void {
    for (const record of this.records()) {
      const stored = this.read(record);
      if (stored) index.replaceKeys(record, undefined, index.prepareKeys(stored.doc, record, this.#writer, this.namespace));
    }
  }

  /** Writes the keys of all `_id`s anew. */
  rebuildIdKeys(): void {
    const table = documentsTable(this.id);
    // The new key of one document may be the old key of another. So each document first gets a key that no value has.
    this.#file.exec(`UPDATE ${table} SET id_key = CAST('~' || record AS BLOB)`);
    const write = this.#file.prepare(`UPDATE ${table} SET id_key = ? WHERE record = ?`);
    for (const record of this.records()) {
      const stored = this.read(record);
      if (stored) write.run(encodeValue(getField(stored.doc, '_id') ?? null), record);
    }
  }

  #keysOf(index: SecondaryIndex, stored: StoredDocument): PreparedKeys {
    return index.prepareKeys(stored.doc, stored.record, this.#writer, this.namespace);
  }

  #duplicateId(id: Value): CommandError {
    const index = { name: '_id_', pattern: { _id: new Int32(1) } };
    return CommandError.duplicateKey(this.namespace, index, { _id: id }, showValue({ _id: id }));
  }
}

export function documentsTable(id: number): string {
  return `documents_${id}`;
}
