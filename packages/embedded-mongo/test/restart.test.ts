import { makeTempDir } from '@wharf/harness';
import { Int32 } from 'bson';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeDocument } from '../src/bson/decode.ts';
import type { Doc } from '../src/bson/value.ts';
import { CommandError } from '../src/command/command-error.ts';
import { TimeLimit } from '../src/command/time-limit.ts';
import { findDocuments } from '../src/plan/find-documents.ts';
import { compileFilter } from '../src/query/filter.ts';
import { parseKeyPattern } from '../src/query/key-pattern.ts';
import { Catalog } from '../src/storage/catalog.ts';
import { parseIndexDefinition } from '../src/storage/index-definition.ts';
import { openStoreFile } from '../src/storage/open-store-file.ts';
import type { StoreFile } from '../src/storage/store-file.ts';
import { document } from './arbitraries.ts';

const up = new Int32(1);
const INDEXES: readonly Doc[] = [
  { name: 'a', key: { a: up } },
  { name: 'b_c', key: { 'b.y': new Int32(-1), c: up }, sparse: true },
  { name: 'partial', key: { a: up, b: up }, partialFilterExpression: { a: { $exists: true } } },
];

it('documents, indexes and answers are the same after the file is closed and opened', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(document, { minLength: 1, maxLength: 30 }), async (documents) => {
      const dir = await makeTempDir('restart');
      try {
        const before = inStore(dir.path, (catalog, file) => {
          const collection = catalog.open('test', 'c');
          file.write(
            () => {
              for (const spec of INDEXES) catalog.createIndex(collection, parseIndexDefinition(spec));
              for (const [i, fields] of documents.entries()) insertIfPossible(collection, { _id: new Int32(i), ...fields });
            },
            () => catalog.reload(),
          );
          return answers(catalog);
        });
        expect(inStore(dir.path, answers)).toEqual(before);
      } finally {
        await dir.remove();
      }
    }),
    { numRuns: 25 },
  );
});

it('an index learns of arrays again after the batch that told it was undone', async () => {
  const dir = await makeTempDir('restart');
  const insert = (collection: ReturnType<Catalog['open']>, id: number) => {
    const doc = { _id: new Int32(id), a: [up, new Int32(2)] };
    collection.insert(doc, encodeDocument(doc));
  };
  inStore(dir.path, (catalog, file) => {
    const collection = catalog.open('test', 'c');
    const write = (change: () => void) => file.write(change, () => catalog.reload());
    write(() => catalog.createIndex(collection, parseIndexDefinition({ name: 'a', key: { a: up } })));
    const undone = () => {
      insert(collection, 1);
      throw new Error('undone');
    };
    expect(() => write(undone)).toThrow('undone');
    expect(collection.indexes.map(({ multikey }) => multikey)).toEqual([false]);
    write(() => insert(collection, 2));
  });
  expect(inStore(dir.path, answers)).toMatchObject({ count: 1, indexes: [['a', true]] });
  await dir.remove();
});

function inStore<T>(path: string, use: (catalog: Catalog, file: StoreFile) => T): T {
  const file = openStoreFile(path);
  try {
    return use(new Catalog(file, 1000), file);
  } finally {
    file.close();
  }
}

/** A document with two arrays in one index is refused. */
function insertIfPossible(collection: ReturnType<Catalog['open']>, doc: Doc): void {
  try {
    collection.insert(doc, encodeDocument(doc));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
  }
}

function answers(catalog: Catalog): unknown {
  const collection = catalog.open('test', 'c');
  const find = (filter: Doc, sort: Doc) => {
    const query = { filter: compileFilter(filter), sort: parseKeyPattern(sort), limit: undefined, timeLimit: new TimeLimit(0) };
    return [...findDocuments(collection, query)].map(({ body }) => body.toString('hex'));
  };
  return {
    count: collection.count,
    indexes: collection.indexes.map((index) => [index.name, index.multikey]),
    all: find({}, {}),
    byA: find({}, { a: up }),
    found: find({ a: { $gte: new Int32(0) } }, { a: new Int32(-1) }),
    nothing: find({ 'b.y': null }, {}),
  };
}
