import type { StatementSync } from 'node:sqlite';
import { serialize } from 'bson';
import { decodeStored } from '../bson/decode.ts';
import { CommandError } from '../command/command-error.ts';
import { Collection, type DocumentBudget, documentsTable } from './collection.ts';
import { type IndexDefinition, indexSpec, parseIndexDefinition, sameKey, sameOptions } from './index-definition.ts';
import { checkCollectionName, checkDatabaseName } from './names.ts';
import { entriesTable, SecondaryIndex } from './secondary-index.ts';
import type { StoreFile } from './store-file.ts';

/** MongoDB allows 64 indexes for each collection, the one of `_id` among them. */
const MAX_INDEXES = 64;
const MAX_COLLECTIONS = 1000;
/** So much of all documents is kept for collections that need room in any case, where some do. */
const KEPT_SHARE = 0.05;

/** All collections of the file, by namespace. */
export class Catalog {
  readonly #file: StoreFile;
  /** What all collections hold together at most. */
  readonly maxDocuments: number;
  /** By collection, how many documents there may be in all when it takes one more. */
  readonly #keptFor: ReadonlyMap<string, number>;
  readonly #collections = new Map<string, Collection>();
  readonly #budget: DocumentBudget;
  readonly #insertCollection: StatementSync;
  readonly #insertIndex: StatementSync;
  #documentCount = 0;

  /** @param keptFor names of collections that may take the last twentieth of the documents, which others may not; `name/2`: the first half of it */
  constructor(file: StoreFile, maxDocuments: number, keptFor: readonly string[] = []) {
    this.#file = file;
    this.maxDocuments = maxDocuments;
    this.#keptFor = new Map(keptFor.map((each) => mostOf(each, maxDocuments)));
    this.#budget = { take: (collection) => this.#takeDocument(collection), give: (count) => this.#giveDocuments(count) };
    this.#insertCollection = file.prepare('INSERT INTO collections (database, name) VALUES (?, ?)');
    this.#insertIndex = file.prepare('INSERT INTO indexes (collection, name, definition, multikey) VALUES (?, ?, ?, 0)');
    this.reload();
  }

  /** Reads everything from the file again, after changes were undone. What is as it was stays in place, so that open cursors go on. */
  reload(): void {
    const known = new Map([...this.#collections.values()].map((collection) => [collection.id, collection]));
    this.#collections.clear();
    this.#documentCount = 0;
    const indexes = this.#readIndexes();
    for (const row of this.#file.prepare('SELECT id, database, name FROM collections ORDER BY id').all()) {
      const [id, database, name] = columns(row);
      const found = { id: Number(id), database: String(database), name: String(name) };
      const kept = known.get(found.id);
      known.delete(found.id);
      const same = kept?.namespace === `${found.database}.${found.name}` && kept.isPresent ? kept : undefined;
      if (!same) kept?.retire();
      const collection = same ?? new Collection(this.#file, this.#budget, found);
      collection.refresh(indexes.get(found.id) ?? []);
      this.#collections.set(collection.namespace, collection);
      this.#documentCount += collection.count;
    }
    for (const vanished of known.values()) vanished.retire();
  }

  find(database: string, name: string): Collection | undefined {
    return this.#collections.get(`${database}.${name}`);
  }

  /** Collections of one database, oldest first. */
  list(database: string): Collection[] {
    return [...this.#collections.values()].filter((collection) => collection.database === database);
  }

  all(): Collection[] {
    return [...this.#collections.values()];
  }

  /** The collection, made now when there is none. @throws CommandError InvalidNamespace */
  open(database: string, name: string): Collection {
    const known = this.find(database, name);
    if (known) return known;
    checkDatabaseName(database);
    checkCollectionName(database, name);
    if (this.#collections.size >= MAX_COLLECTIONS)
      throw new CommandError('OutOfDiskSpace', `the store holds at most ${MAX_COLLECTIONS} collections`);
    this.#file.changed();
    const id = Number(this.#insertCollection.run(database, name).lastInsertRowid);
    this.#file.exec(
      `CREATE TABLE ${documentsTable(id)} (record INTEGER PRIMARY KEY, id_key BLOB NOT NULL UNIQUE, body BLOB NOT NULL) STRICT`,
    );
    const collection = new Collection(this.#file, this.#budget, { id, database, name });
    this.#collections.set(collection.namespace, collection);
    return collection;
  }

  drop(collection: Collection): void {
    collection.retire();
    for (const index of collection.indexes) this.#file.exec(`DROP TABLE ${entriesTable(index.id)}`);
    this.#file.exec(`DELETE FROM indexes WHERE collection = ${collection.id}; DROP TABLE ${documentsTable(collection.id)};`);
    this.#file.exec(`DELETE FROM collections WHERE id = ${collection.id}`);
    this.#giveDocuments(collection.count);
    this.#collections.delete(collection.namespace);
  }

  /**
   * Makes an index and fills it.
   *
   * @returns false when the collection has exactly this index already.
   * @throws CommandError IndexOptionsConflict (same key, other name or options), IndexKeySpecsConflict (same name, other key), DuplicateKey.
   */
  createIndex(collection: Collection, definition: IndexDefinition): boolean {
    if (isIdKey(definition)) return false;
    for (const { definition: known } of collection.indexes) {
      const isSameKey = sameKey(known.pattern, definition.pattern);
      if (known.name === definition.name) {
        if (isSameKey && sameOptions(known, definition)) return false;
        const code = isSameKey ? 'IndexOptionsConflict' : 'IndexKeySpecsConflict';
        throw new CommandError(
          code,
          `An existing index has the same name as the requested index, but another key or options: ${known.name}`,
        );
      }
      if (isSameKey && sameOptions(known, definition)) {
        throw new CommandError('IndexOptionsConflict', `Index already exists with a different name: ${known.name}`);
      }
      if (isSameKey && sameIndexedDocuments(known, definition)) {
        throw new CommandError('IndexOptionsConflict', `An equivalent index exists with other options: ${known.name}`);
      }
    }
    if (collection.indexes.length + 1 >= MAX_INDEXES)
      throw new CommandError('CannotCreateIndex', `too many indexes, limit: ${MAX_INDEXES}`);
    this.#file.changed();
    const id = Number(this.#insertIndex.run(collection.id, definition.name, serialize(indexSpec(definition))).lastInsertRowid);
    this.#file.exec(
      `CREATE TABLE ${entriesTable(id)} (key BLOB NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (key, record)) STRICT, WITHOUT ROWID`,
    );
    const index = new SecondaryIndex(this.#file, id, definition, false);
    collection.buildIndex(index);
    collection.indexes.push(index);
    return true;
  }

  dropIndex(collection: Collection, index: SecondaryIndex): void {
    index.retire();
    this.#file.exec(`DROP TABLE ${entriesTable(index.id)}; DELETE FROM indexes WHERE id = ${index.id};`);
    collection.indexes.splice(collection.indexes.indexOf(index), 1);
  }

  #readIndexes(): Map<number, SecondaryIndex[]> {
    const result = new Map<number, SecondaryIndex[]>();
    for (const row of this.#file.prepare('SELECT id, collection, definition, multikey FROM indexes ORDER BY id').all()) {
      const [id, collection, definition, multikey] = columns(row);
      if (!(definition instanceof Uint8Array)) throw new Error('an index definition is unreadable');
      const index = new SecondaryIndex(this.#file, Number(id), parseIndexDefinition(decodeStored(definition)), multikey === 1);
      const list = result.get(Number(collection)) ?? [];
      list.push(index);
      result.set(Number(collection), list);
    }
    return result;
  }

  #takeDocument(collection: string): void {
    const others = this.#keptFor.size === 0 ? this.maxDocuments : Math.floor((1 - KEPT_SHARE) * this.maxDocuments);
    const most = this.#keptFor.get(collection) ?? others;
    if (this.#documentCount >= most) {
      throw new CommandError('OutOfDiskSpace', `the embedded store holds at most ${most} documents; remove some, or use a MongoDB server`);
    }
    this.#documentCount++;
  }

  #giveDocuments(count: number): void {
    this.#documentCount -= count;
  }
}

/** The collection that `kept` names, and how many documents there may be in all when it takes one more. */
function mostOf(kept: string, maxDocuments: number): readonly [string, number] {
  const [name = '', parts = '1'] = kept.split('/');
  return [name, Math.floor((1 - KEPT_SHARE + KEPT_SHARE / Number(parts)) * maxDocuments)];
}

function isIdKey(definition: IndexDefinition): boolean {
  const isId = definition.fields.length === 1 && definition.fields[0]?.name === '_id';
  if (!isId && definition.name === '_id_') throw new CommandError('BadValue', "The index name '_id_' is reserved for the _id index");
  if (isId && (definition.sparse || definition.partial))
    throw new CommandError('InvalidIndexSpecificationOption', 'the _id index takes no options');
  return isId && !definition.fields[0]?.descending;
}

/** MongoDB tells indexes on the same key apart by unique, sparse and filter, not by expiry. */
function sameIndexedDocuments(a: IndexDefinition, b: IndexDefinition): boolean {
  return sameOptions({ ...a, expireAfterSeconds: b.expireAfterSeconds }, b);
}

function columns(row: unknown): readonly unknown[] {
  return Array.isArray(row) ? row : [];
}
