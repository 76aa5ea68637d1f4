import { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, fill, idsOf, type Rule } from './store-contract.ts';

interface FilterCase {
  readonly title: string;
  readonly documents: readonly mongo.Document[];
  readonly filter: mongo.Document;
  readonly finds: readonly number[];
}

const { Binary, Double, Int32, Long, ObjectId } = mongo;
const mixed: mongo.Document[] = [
  { v: 1 },
  { v: 5.5 },
  { v: Long.fromNumber(7) },
  { v: 'text' },
  { v: null },
  {},
  { v: true },
  { v: new Date(5) },
  { v: [1, 9] },
  { v: { a: 1 } },
  { v: [] },
  { v: new ObjectId('00112233445566778899aabb') },
  { v: new Binary(Buffer.from('bytes')) },
];

const CASES: readonly FilterCase[] = [
  { title: 'equality finds scalars and array elements', documents: mixed, filter: { v: 1 }, finds: [0, 8] },
  { title: 'numbers of different types are equal', documents: mixed, filter: { v: new Double(7) }, finds: [2] },
  {
    title: 'a long beyond 2^53 is told from its neighbour',
    documents: [{ v: Long.fromString('9007199254740993') }, { v: Long.fromString('9007199254740992') }],
    filter: { v: Long.fromString('9007199254740993') },
    finds: [0],
  },
  { title: 'equality with null finds null and missing fields', documents: mixed, filter: { v: null }, finds: [4, 5] },
  {
    title: '$ne is the opposite of equality, missing fields included',
    documents: mixed,
    filter: { v: { $ne: 1 } },
    finds: [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12],
  },
  {
    title: '$ne null finds what exists and is not null',
    documents: mixed,
    filter: { v: { $ne: null } },
    finds: [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12],
  },
  { title: '$gt compares within the type of its operand only', documents: mixed, filter: { v: { $gt: 2 } }, finds: [1, 2, 8] },
  { title: '$lt compares within the type of its operand only', documents: mixed, filter: { v: { $lt: 'z' } }, finds: [3] },
  { title: '$gte null finds null and missing fields', documents: mixed, filter: { v: { $gte: null } }, finds: [4, 5] },
  { title: '$gt null finds nothing', documents: mixed, filter: { v: { $gt: null } }, finds: [] },
  {
    title: 'two conditions on an array may be met by two elements',
    documents: [{ v: [1, 10] }, { v: [5] }, { v: [11] }],
    filter: { v: { $gt: 3, $lt: 5.5 } },
    finds: [0, 1],
  },
  {
    title: 'a range over an array is met by elements apart',
    documents: [{ v: [1, 10] }, { v: [20] }],
    filter: { v: { $gt: 8, $lt: 3 } },
    finds: [0],
  },
  { title: 'dates compare with dates', documents: mixed, filter: { v: { $lte: new Date(5) } }, finds: [7] },
  {
    title: 'ObjectIds compare with ObjectIds',
    documents: mixed,
    filter: { v: { $gte: new ObjectId('000000000000000000000000') } },
    finds: [11],
  },
  { title: 'booleans compare with booleans', documents: mixed, filter: { v: { $gt: false } }, finds: [6] },
  { title: 'binary values are equal by their bytes', documents: mixed, filter: { v: new Binary(Buffer.from('bytes')) }, finds: [12] },
  { title: 'NaN equals NaN and is in no range', documents: [{ v: Number.NaN }, { v: 1 }], filter: { v: { $lt: 5 } }, finds: [1] },
  { title: 'equality finds NaN', documents: [{ v: Number.NaN }, { v: 1 }], filter: { v: Number.NaN }, finds: [0] },
  {
    title: 'an array operand finds the whole array and an element that is it',
    documents: [{ v: [1, 2] }, { v: [[1, 2]] }, { v: [2, 1] }],
    filter: { v: [1, 2] },
    finds: [0, 1],
  },
  {
    title: 'a document operand is compared as a whole, in field order',
    documents: [{ v: { a: 1, b: 2 } }, { v: { b: 2, a: 1 } }, { v: { a: 1 } }],
    filter: { v: { a: 1, b: 2 } },
    finds: [0],
  },
  { title: '$in finds any of its values, also null', documents: mixed, filter: { v: { $in: [9, null, 'text'] } }, finds: [3, 4, 5, 8] },
  { title: '$in takes patterns', documents: [{ v: 'abc' }, { v: 'xyz' }, { v: 'q' }], filter: { v: { $in: [/^a/, 'q'] } }, finds: [0, 2] },
  { title: '$nin is the opposite of $in', documents: mixed, filter: { v: { $nin: [1, null] } }, finds: [1, 2, 3, 6, 7, 9, 10, 11, 12] },
  {
    title: '$exists true finds null too',
    documents: mixed,
    filter: { v: { $exists: true } },
    finds: [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12],
  },
  { title: '$exists false finds missing fields', documents: mixed, filter: { v: { $exists: false } }, finds: [5] },
  { title: '$type looks at array elements too', documents: mixed, filter: { v: { $type: 'int' } }, finds: [0, 8] },
  { title: '$type number means every numeric type', documents: mixed, filter: { v: { $type: 'number' } }, finds: [0, 1, 2, 8] },
  { title: '$type array finds arrays', documents: mixed, filter: { v: { $type: 'array' } }, finds: [8, 10] },
  { title: '$type takes several types and numbers', documents: mixed, filter: { v: { $type: ['string', 9] } }, finds: [3, 7] },
  { title: '$size counts elements', documents: mixed, filter: { v: { $size: 2 } }, finds: [8] },
  { title: '$size 0 finds empty arrays', documents: mixed, filter: { v: { $size: 0 } }, finds: [10] },
  { title: '$all wants every value', documents: [{ v: [1, 2, 3] }, { v: [1] }, { v: 1 }], filter: { v: { $all: [1, 2] } }, finds: [0] },
  {
    title: '$all with one value finds scalars',
    documents: [{ v: [1, 2, 3] }, { v: 1 }, { v: 2 }],
    filter: { v: { $all: [1] } },
    finds: [0, 1],
  },
  { title: '$all of nothing finds nothing', documents: [{ v: [1] }, { v: [] }], filter: { v: { $all: [] } }, finds: [] },
  {
    title: '$elemMatch wants one element that meets all',
    documents: [{ v: [1, 10] }, { v: [5] }],
    filter: { v: { $elemMatch: { $gt: 3, $lt: 6 } } },
    finds: [1],
  },
  {
    title: '$elemMatch over documents',
    documents: [
      {
        v: [
          { a: 1, b: 2 },
          { a: 2, b: 1 },
        ],
      },
      { v: [{ a: 1, b: 1 }] },
      { v: { a: 1, b: 1 } },
    ],
    filter: { v: { $elemMatch: { a: 1, b: 1 } } },
    finds: [1],
  },
  {
    title: '$elemMatch inside $all',
    documents: [{ v: [{ a: 1 }, { a: 2 }] }, { v: [{ a: 1 }] }],
    filter: { v: { $all: [{ $elemMatch: { a: 1 } }, { $elemMatch: { a: 2 } }] } },
    finds: [0],
  },
  {
    title: '$mod works on the whole part',
    documents: [{ v: 10 }, { v: 11 }, { v: 10.7 }, { v: 'x' }, { v: -10 }],
    filter: { v: { $mod: [5, 0] } },
    finds: [0, 2, 4],
  },
  {
    title: '$not turns a condition round',
    documents: mixed,
    filter: { v: { $not: { $gt: 2 } } },
    finds: [0, 3, 4, 5, 6, 7, 9, 10, 11, 12],
  },
  { title: '$not takes a pattern', documents: [{ v: 'abc' }, { v: 'xyz' }, {}], filter: { v: { $not: /^a/ } }, finds: [1, 2] },
  {
    title: '$regex with options',
    documents: [{ v: 'Abc' }, { v: 'xabc' }, { v: 3 }],
    filter: { v: { $regex: '^a', $options: 'i' } },
    finds: [0],
  },
  { title: 'a pattern finds array elements', documents: [{ v: ['x', 'abc'] }, { v: ['x'] }], filter: { v: /^ab/ }, finds: [0] },
  {
    title: 'conditions on several fields must all hold',
    documents: [
      { a: 1, b: 1 },
      { a: 1, b: 2 },
    ],
    filter: { a: 1, b: 2 },
    finds: [1],
  },
  {
    title: '$and holds when all do',
    documents: [
      { a: 1, b: 1 },
      { a: 1, b: 2 },
    ],
    filter: { $and: [{ a: 1 }, { b: { $gt: 1 } }] },
    finds: [1],
  },
  { title: '$or holds when one does', documents: [{ a: 1 }, { b: 2 }, { c: 3 }], filter: { $or: [{ a: 1 }, { b: 2 }] }, finds: [0, 1] },
  { title: '$nor holds when none does', documents: [{ a: 1 }, { b: 2 }, { c: 3 }], filter: { $nor: [{ a: 1 }, { b: 2 }] }, finds: [2] },
  { title: 'a dotted path goes into documents', documents: [{ a: { b: 1 } }, { a: { b: 2 } }, { a: 1 }], filter: { 'a.b': 1 }, finds: [0] },
  {
    title: 'a dotted path goes into documents in arrays',
    documents: [{ a: [{ b: 1 }, { b: 2 }] }, { a: [{ b: 3 }] }],
    filter: { 'a.b': 2 },
    finds: [0],
  },
  {
    title: 'two paths through an array may meet two elements',
    documents: [
      {
        a: [
          { b: 1, c: 3 },
          { b: 2, c: 2 },
        ],
      },
      { a: [{ b: 2, c: 1 }] },
    ],
    filter: { 'a.b': 1, 'a.c': 2 },
    finds: [0],
  },
  { title: 'a dotted path takes an array index', documents: [{ a: [5, 6] }, { a: [6, 5] }], filter: { 'a.1': 6 }, finds: [0] },
  {
    title: 'a dotted path goes on behind an array index',
    documents: [{ a: [{ b: 1 }, { b: 2 }] }, { a: [{ b: 2 }, { b: 1 }] }],
    filter: { 'a.1.b': 2 },
    finds: [0],
  },
  {
    title: 'null finds a missing field in a document of an array',
    documents: [{ a: [{ b: 1 }, { c: 1 }] }, { a: [{ b: 1 }] }, { a: 5 }, {}],
    filter: { 'a.b': null },
    finds: [0, 2, 3],
  },
  { title: 'null finds nothing in an array without documents', documents: [{ a: [] }, { a: [1] }], filter: { 'a.b': null }, finds: [] },
  {
    title: '$exists false finds arrays without such documents',
    documents: [{ a: [] }, { a: [{ b: 1 }] }, { a: [1] }],
    filter: { 'a.b': { $exists: false } },
    finds: [0, 2],
  },
  {
    title: '$elemMatch finds nothing in a scalar',
    documents: [{ v: 5 }, { v: [5] }],
    filter: { v: { $elemMatch: { $gt: 3 } } },
    finds: [1],
  },
  {
    title: 'strings are ordered by their UTF-8 bytes',
    documents: [{ v: '\u{1F600}' }, { v: '\uFFFD' }, { v: 'a' }],
    filter: { v: { $gt: '\uFFFD' } },
    finds: [0],
  },
  {
    title: 'integers of 32 and 64 bits are one range',
    documents: [{ v: new Int32(5) }, { v: Long.fromString('5000000000') }, { v: 5e9 + 0.5 }],
    filter: { v: { $gte: Long.fromString('5000000000') } },
    finds: [1, 2],
  },
];

interface RefusedCase {
  readonly title: string;
  readonly filter: mongo.Document;
  readonly code: number;
}

const REFUSED: readonly RefusedCase[] = [
  { title: 'an unknown operator is refused', filter: { v: { $shout: [1, 2] } }, code: 2 },
  { title: 'an unknown top level operator is refused', filter: { $unknown: 1 }, code: 2 },
  { title: '$and of nothing is refused', filter: { $and: [] }, code: 2 },
  { title: '$or of a scalar is refused', filter: { $or: [1] }, code: 2 },
  { title: '$in of a scalar is refused', filter: { v: { $in: 1 } }, code: 2 },
  { title: 'an operator beside a field is refused', filter: { v: { $gt: 1, field: 2 } }, code: 2 },
  { title: '$size of a negative number is refused', filter: { v: { $size: -1 } }, code: 2 },
  { title: '$mod by zero is refused', filter: { v: { $mod: [0, 1] } }, code: 2 },
  { title: '$not of a scalar is refused', filter: { v: { $not: 5 } }, code: 2 },
  { title: '$elemMatch of a scalar is refused', filter: { v: { $elemMatch: 5 } }, code: 2 },
  { title: '$options without $regex is refused', filter: { v: { $options: 'i' } }, code: 2 },
  { title: 'a broken pattern is refused', filter: { v: { $regex: '(' } }, code: 51091 },
];

export function filterRules(rule: Rule): void {
  for (const { title, documents, filter, finds } of CASES) {
    rule(title, async ({ collection }) => {
      await fill(collection, documents);
      expect(await idsOf(collection, filter)).toEqual(finds);
      // The same with an index on every field that the filter may use.
      await collection.createIndexes(
        [{ key: { v: 1 } }, { key: { 'a.b': -1 } }, { key: { a: 1, b: 1 } }].filter(({ key }) => !hasParallelArrays(documents, key)),
      );
      expect(await idsOf(collection, filter)).toEqual(finds);
      expect(await collection.countDocuments(filter)).toBe(finds.length);
      expect((await collection.deleteMany(filter)).deletedCount).toBe(finds.length);
    });
  }
  for (const { title, filter, code } of REFUSED) {
    rule(title, async ({ collection }) => {
      await fill(collection, [{ v: 1 }]);
      expect((await failureOf(collection.find(filter).toArray())).code).toBe(code);
    });
  }
}

function hasParallelArrays(documents: readonly mongo.Document[], key: object): boolean {
  return documents.some((document) => Object.keys(key).filter((name) => Array.isArray(document[name.split('.')[0] ?? ''])).length > 1);
}
