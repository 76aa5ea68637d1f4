import type { StatementSync } from 'node:sqlite';
import { Int32 } from 'bson';
import type { KeyWriter } from '../bson/key-encoding.ts';
import { showValue } from '../bson/show-value.ts';
import { type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { documentKeys, hasAnyField, type KeyPattern, parseKeyPattern } from '../query/key-pattern.ts';
import type { Path } from '../query/path.ts';
import type { IndexDefinition } from './index-definition.ts';
import { KeyTable } from './key-table.ts';
import type { StoreFile } from './store-file.ts';

/** What the planner needs to know of an index; the one over `_id` has this shape too. */
export interface ReadableIndex {
  readonly name: string;
  readonly fields: KeyPattern;
  readonly sparse: boolean;
  readonly partial: IndexDefinition['partial'];
  /** True when some document has, or had, an array on the way to an indexed field. */
  readonly multikey: boolean;
  readonly table: KeyTable;
  /** @throws CommandError QueryPlanKilled once the index is gone. */
  readonly assertPresent: () => void;
}

const ID_FIELDS: KeyPattern = parseKeyPattern({ _id: new Int32(1) });

/** The order that the documents' table has by itself. */
export function idIndex(table: KeyTable, assertPresent: () => void): ReadableIndex {
  return { name: '_id_', fields: ID_FIELDS, sparse: false, partial: undefined, multikey: false, table, assertPresent };
}

/** The keys of one document in one index, computed and checked before anything is written. */
export interface PreparedKeys {
  readonly keys: readonly Buffer[];
  readonly multikey: boolean;
}

/** One secondary index with its table of entries. */
export class SecondaryIndex implements ReadableIndex {
  readonly id: number;
  readonly definition: IndexDefinition;
  readonly table: KeyTable;
  readonly #file: StoreFile;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #findOther: StatementSync;
  readonly #markMultikey: StatementSync;
  #multikey: boolean;
  #isGone = false;

  constructor(file: StoreFile, id: number, definition: IndexDefinition, multikey: boolean) {
    this.id = id;
    this.definition = definition;
    this.#file = file;
    this.#multikey = multikey;
    const table = entriesTable(id);
    this.table = new KeyTable(file, table, 'key');
    this.#insert = file.prepare(`INSERT INTO ${table} (key, record) VALUES (?, ?)`);
    this.#delete = file.prepare(`DELETE FROM ${table} WHERE key = ? AND record = ?`);
    this.#findOther = file.prepare(`SELECT record FROM ${table} WHERE key = ? AND record <> ? LIMIT 1`);
    this.#markMultikey = file.prepare('UPDATE indexes SET multikey = 1 WHERE id = ?');
  }

  get name(): string {
    return this.definition.name;
  }

  get fields(): KeyPattern {
    return this.definition.fields;
  }

  get sparse(): boolean {
    return this.definition.sparse;
  }

  get partial(): IndexDefinition['partial'] {
    return this.definition.partial;
  }

  get multikey(): boolean {
    return this.#multikey;
  }

  readonly assertPresent = (): void => {
    if (this.#isGone) throw new CommandError('QueryPlanKilled', `the index '${this.name}' was dropped`);
  };

  /** Takes over what the file says. */
  refresh(multikey: boolean): void {
    this.#multikey = multikey;
  }

  /** To be called when the index, or its collection, is dropped. */
  retire(): void {
    this.#isGone = true;
  }

  /** Whether a change of a document may change its keys: none does that leaves the very values of the fields they are made of. */
  mayChange(before: Doc, after: Doc): boolean {
    const { partial, fields } = this.definition;
    return partial !== undefined || fields.some(({ path: [name = ''] }) => getField(before, name) !== getField(after, name));
  }

  /**
   * The document's keys, checked against the other documents when the index is unique.
   *
   * @param record the document's own record, or -1 while it has none.
   * @throws CommandError DuplicateKey, CannotIndexParallelArrays
   */
  prepareKeys(doc: Doc, record: number, writer: KeyWriter, namespace: string): PreparedKeys {
    const { partial, sparse, fields, unique } = this.definition;
    if (partial && !partial.filter.matches(doc)) return { keys: [], multikey: false };
    if (sparse && !hasAnyField(doc, fields)) return { keys: [], multikey: false };
    const prepared = documentKeys(doc, fields, writer);
    if (unique) {
      for (const key of prepared.keys) if (this.#findOther.get(key, record) !== undefined) throw this.#duplicate(doc, namespace);
    }
    return prepared;
  }

  /** Removes the keys of all documents. */
  clear(): void {
    this.#file.exec(`DELETE FROM ${entriesTable(this.id)}`);
  }

  /** Replaces a document's old keys by its new ones. */
  replaceKeys(record: number, before: PreparedKeys | undefined, after: PreparedKeys | undefined): void {
    const unchanged =
      before && after && before.keys.length === after.keys.length && before.keys.every((key, i) => key.equals(after.keys[i] ?? key));
    if (!unchanged) {
      for (const key of before?.keys ?? []) this.#delete.run(key, record);
      for (const key of after?.keys ?? []) this.#insert.run(key, record);
    }
    if (after?.multikey && !this.#multikey) {
      this.#multikey = true;
      this.#markMultikey.run(this.id);
    }
    this.#file.changed();
  }

  #duplicate(doc: Doc, namespace: string): CommandError {
    const keyValue: Doc = {};
    for (const field of this.definition.fields) keyValue[field.name] = valueAt(doc, field.path);
    return CommandError.duplicateKey(namespace, this.definition, keyValue, showValue(keyValue));
  }
}

export function entriesTable(id: number): string {
  return `entries_${id}`;
}

function valueAt(doc: Doc, path: Path): Value {
  let value: Value = doc;
  for (const part of path) {
    if (!isDoc(value)) return null;
    value = getField(value, part) ?? null;
  }
  return value;
}
