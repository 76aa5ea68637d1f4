import { makeTempDir } from '@wharf/harness';
import { Int32 } from 'bson';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeDocument } from '../src/bson/decode.ts';
import { KeyWriter } from '../src/bson/key-encoding.ts';
import type { Doc, Value } from '../src/bson/value.ts';
import { CommandError } from '../src/command/command-error.ts';
import { TimeLimit } from '../src/command/time-limit.ts';
import { countDocuments } from '../src/plan/count-documents.ts';
import { findDocuments, planRecords } from '../src/plan/find-documents.ts';
import { choosePlan, coveringRanges } from '../src/plan/plan.ts';
import { compileFilter } from '../src/query/filter.ts';
import { parseKeyPattern, sortKey } from '../src/query/key-pattern.ts';
import { Catalog } from '../src/storage/catalog.ts';
import { parseIndexDefinition } from '../src/storage/index-definition.ts';
import { openStoreFile } from '../src/storage/open-store-file.ts';
import type { StoreFile } from '../src/storage/store-file.ts';
import { document, scalar, value } from './arbitraries.ts';

let dir: Awaited<ReturnType<typeof makeTempDir>>;
let file: StoreFile;
let catalog: Catalog;
let collections = 0;

beforeAll(async () => {
  dir = await makeTempDir('plan');
  file = openStoreFile(dir.path);
  catalog = new Catalog(file, 1_000_000);
});
afterAll(async () => {
  file.close();
  await dir.remove();
});

const one: Value = new Int32(1);
const minusOne: Value = new Int32(-1);
const direction = fc.constantFrom(one, minusOne);
const path = fc.constantFrom('a', 'b', 'a.x', 'b.y', 'c', 'c.x', 'a.x.y');

const operator: fc.Arbitrary<Doc> = fc.oneof(
  fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte', '$eq', '$ne'), value).map(([name, operand]): Doc => ({ [name]: operand })),
  fc.array(scalar, { maxLength: 3 }).map((operands): Doc => ({ $in: operands })),
  fc.boolean().map((operand): Doc => ({ $exists: operand })),
  fc.constantFrom('^a', '^ab?', 'b', '^a|b').map((operand): Doc => ({ $regex: operand })),
);
const condition: fc.Arbitrary<Value> = fc.oneof(
  value.filter((operand) => !JSON.stringify(operand).includes('$')),
  fc.tuple(operator, operator).map(([a, b]): Doc => ({ ...a, ...b })),
);
const conditions = fc.dictionary(path, condition, { maxKeys: 3, noNullPrototype: true });
const filter: fc.Arbitrary<Doc> = fc.oneof(
  { weight: 4, arbitrary: conditions },
  fc.tuple(conditions, conditions).map(([a, b]): Doc => ({ $and: [a, b] })),
  fc.tuple(conditions, conditions).map(([a, b]): Doc => ({ $or: [a, b] })),
);
const pattern = fc
  .uniqueArray(fc.tuple(path, direction), { minLength: 1, maxLength: 3, selector: ([name]) => name })
  .map((fields): Doc => Object.fromEntries(fields));
const options: fc.Arbitrary<Doc> = fc.oneof(
  fc.constant<Doc>({}),
  fc.constant<Doc>({ sparse: true }),
  fc
    .constantFrom<Doc>({ a: { $gt: one } }, { b: { $exists: true } }, { a: { $gte: 'a' } }, { a: one })
    .map((partial): Doc => ({ partialFilterExpression: partial })),
);

it('an index plan finds, and counts, what a full scan finds, in the wanted order', () => {
  const writer = new KeyWriter();
  const kinds = { all: 0, index: 0, counted: 0 };
  fc.assert(
    fc.property(
      fc.array(document, { maxLength: 12 }),
      fc.uniqueArray(fc.tuple(pattern, options), { minLength: 1, maxLength: 3, selector: ([key]) => JSON.stringify(Object.entries(key)) }),
      fc.array(fc.tuple(filter, fc.option(pattern, { nil: undefined })), { minLength: 1, maxLength: 6 }),
      (documents, indexes, queries) => {
        file.write(
          () => {
            const collection = catalog.open('test', `c${++collections}`);
            for (const [i, [key, option]] of indexes.entries())
              catalog.createIndex(collection, parseIndexDefinition({ key, name: `i${i}`, ...option }));
            const kept: Doc[] = [];
            for (const [i, fields] of documents.entries()) {
              const doc: Doc = { _id: new Int32(i), ...fields };
              try {
                collection.insert(doc, encodeDocument(doc));
                kept.push(doc);
              } catch (error) {
                if (!(error instanceof CommandError)) throw error;
              }
            }
            for (const [spec, order] of queries) {
              const compiled = compileFilter(spec);
              const sort = order && parseKeyPattern(order);
              const plan = choosePlan(collection, compiled, sort);
              kinds[plan.kind]++;
              const wanted = kept.filter(compiled.matches).map((doc) => Number(doc['_id']));
              const candidates = [...planRecords(collection, plan)];
              expect(new Set(candidates).size).toBe(candidates.length);
              let found: Doc[];
              try {
                found = [...findDocuments(collection, { filter: compiled, sort, limit: undefined, timeLimit: new TimeLimit(0) })].map(
                  ({ doc }) => doc,
                );
              } catch (error) {
                // Two parallel arrays in a sort.
                if (!(error instanceof CommandError)) throw error;
                continue;
              }
              expect(found.map((doc) => Number(doc['_id'])).sort((x, y) => x - y)).toEqual(wanted);
              for (const most of [1, Number.POSITIVE_INFINITY])
                expect(countDocuments(collection, compiled, most, new TimeLimit(0))).toBe(Math.min(most, wanted.length));
              if (sort) {
                const keys = found.map((doc) => sortKey(doc, sort, writer));
                for (const [i, key] of keys.entries()) expect(i === 0 || Buffer.compare(keys[i - 1] ?? key, key) <= 0).toBe(true);
              }
            }
            // Of values that are there, as random ones seldom are.
            for (const [key] of indexes) {
              for (const doc of kept) {
                const asked = Object.keys(key).flatMap((name): [string, Value][] => (doc[name] === undefined ? [] : [[name, doc[name]]]));
                const compiled = compileFilter(Object.fromEntries(asked));
                const counted = countDocuments(collection, compiled, Number.POSITIVE_INFINITY, new TimeLimit(0));
                expect(counted).toBe(kept.filter(compiled.matches).length);
                if (coveringRanges(collection, compiled)) kinds.counted++;
              }
            }
            catalog.drop(collection);
          },
          () => catalog.reload(),
        );
        file.commit();
      },
    ),
    { numRuns: 400 },
  );
  // The property would also hold if no index were ever chosen.
  expect(kinds.index).toBeGreaterThan(200);
  expect(kinds.counted).toBeGreaterThan(20);
});

it('a long list of values is looked up one by one, and not searched for in everything', () => {
  file.write(
    () => {
      const collection = catalog.open('test', 'long-list');
      for (let id = 0; id < 2_000; id += 1) {
        const doc: Doc = { _id: new Int32(id) };
        collection.insert(doc, encodeDocument(doc));
      }
      const wanted = Array.from({ length: 500 }, (_, index) => new Int32(3 * index));
      const plan = choosePlan(collection, compileFilter({ _id: { $in: wanted } }), undefined);
      expect([...planRecords(collection, plan)].length).toBe(wanted.length);
    },
    () => catalog.reload(),
  );
  file.commit();
});

it('an $or of which an index narrows down each part reads what lies there, and no document twice', () => {
  file.write(
    () => {
      const collection = catalog.open('test', 'or');
      catalog.createIndex(collection, parseIndexDefinition({ key: { path: one }, name: 'path', unique: true }));
      for (const [i, name] of ['/', '/a', '/a-b', '/a/b', '/a/b/c', '/a0', '/b'].entries()) {
        const doc: Doc = { _id: new Int32(i), path: name };
        collection.insert(doc, encodeDocument(doc));
      }
      // As a find without a sort asks.
      const unsorted = parseKeyPattern({});
      const looked = (spec: Doc) => [...planRecords(collection, choosePlan(collection, compileFilter(spec), unsorted))].length;
      const below = (top: string): Value[] => [{ path: top }, { path: { $gte: `${top}/`, $lt: `${top}0` } }];
      expect(looked({ $or: below('/a') })).toBe(3);
      expect(looked({ $or: [...below('/a'), ...below('/a/b'), ...below('/none')], depth: { $ne: one } })).toBe(3);
      expect(looked({ $or: [...below('/a'), { depth: one }] })).toBe(7);
      catalog.drop(collection);
    },
    () => catalog.reload(),
  );
  file.commit();
});
