import type { mongo } from 'mongoose';
import { expect } from 'vitest';
import { failureOf, fill, type Rule } from './store-contract.ts';

interface AggregateCase {
  readonly title: string;
  readonly documents: readonly mongo.Document[];
  readonly pipeline: mongo.Document[];
  readonly gives: readonly mongo.Document[];
}

const people: mongo.Document[] = [
  { team: 'a', n: 1, tags: ['x', 'y'] },
  { team: 'b', n: 5, tags: [] },
  { team: 'a', n: 3 },
  { team: 'b', n: 2.5, tags: ['x'] },
  { n: 'text', tags: null },
];

const CASES: readonly AggregateCase[] = [
  {
    title: '$match, $sort, $skip, $limit and $project',
    documents: people,
    pipeline: [{ $match: { team: { $exists: true } } }, { $sort: { n: -1 } }, { $skip: 1 }, { $limit: 2 }, { $project: { n: 1 } }],
    gives: [
      { _id: 2, n: 3 },
      { _id: 3, n: 2.5 },
    ],
  },
  {
    title: '$group with the usual accumulators',
    documents: people,
    pipeline: [
      { $sort: { _id: 1 } },
      {
        $group: {
          _id: '$team',
          sum: { $sum: '$n' },
          avg: { $avg: '$n' },
          min: { $min: '$n' },
          max: { $max: '$n' },
          first: { $first: '$n' },
          last: { $last: '$n' },
          all: { $push: '$n' },
          count: { $sum: 1 },
          c: { $count: {} },
        },
      },
      { $sort: { _id: 1 } },
    ],
    gives: [
      { _id: null, sum: 0, avg: null, min: 'text', max: 'text', first: 'text', last: 'text', all: ['text'], count: 1, c: 1 },
      { _id: 'a', sum: 4, avg: 2, min: 1, max: 3, first: 1, last: 3, all: [1, 3], count: 2, c: 2 },
      { _id: 'b', sum: 7.5, avg: 3.75, min: 2.5, max: 5, first: 5, last: 2.5, all: [5, 2.5], count: 2, c: 2 },
    ],
  },
  {
    title: '$group by null makes one group',
    documents: people,
    pipeline: [{ $group: { _id: null, n: { $sum: 1 } } }],
    gives: [{ _id: null, n: 5 }],
  },
  {
    title: '$group by a document',
    documents: [
      { a: 1, b: 1 },
      { a: 1, b: 1 },
      { a: 1, b: 2 },
    ],
    pipeline: [{ $group: { _id: { a: '$a', b: '$b' }, n: { $sum: 1 } } }, { $sort: { n: 1 } }],
    gives: [
      { _id: { a: 1, b: 2 }, n: 1 },
      { _id: { a: 1, b: 1 }, n: 2 },
    ],
  },
  {
    title: '$addToSet in $group keeps each value once',
    documents: [{ a: 1 }, { a: 1 }, { b: 2 }],
    pipeline: [{ $group: { _id: null, s: { $addToSet: '$a' } } }],
    gives: [{ _id: null, s: [1] }],
  },
  { title: '$count counts', documents: people, pipeline: [{ $match: { n: { $gte: 2 } } }, { $count: 'found' }], gives: [{ found: 3 }] },
  { title: '$count of nothing gives nothing', documents: people, pipeline: [{ $match: { n: 99 } }, { $count: 'found' }], gives: [] },
  {
    title: '$unwind makes one document of each element',
    documents: people,
    pipeline: [{ $unwind: '$tags' }, { $project: { tags: 1 } }, { $sort: { _id: 1, tags: 1 } }],
    gives: [
      { _id: 0, tags: 'x' },
      { _id: 0, tags: 'y' },
      { _id: 3, tags: 'x' },
    ],
  },
  {
    title: '$unwind keeps empty ones when told, with the index',
    documents: [{ a: ['x'] }, { a: [] }, { a: 5 }, {}],
    pipeline: [{ $unwind: { path: '$a', preserveNullAndEmptyArrays: true, includeArrayIndex: 'i' } }, { $sort: { _id: 1 } }],
    gives: [
      { _id: 0, a: 'x', i: 0 },
      { _id: 1, i: null },
      { _id: 2, a: 5, i: null },
      { _id: 3, i: null },
    ],
  },
  {
    title: '$addFields sets computed fields',
    documents: [{ a: 2 }],
    pipeline: [{ $addFields: { b: { $add: ['$a', 1] }, 'c.d': '$a' } }],
    gives: [{ _id: 0, a: 2, b: 3, c: { d: 2 } }],
  },
  {
    title: '$set goes into the documents of an array',
    documents: [{ a: [{ x: 1 }, { x: 2 }] }],
    pipeline: [{ $set: { 'a.y': 9 } }],
    gives: [
      {
        _id: 0,
        a: [
          { x: 1, y: 9 },
          { x: 2, y: 9 },
        ],
      },
    ],
  },
  {
    title: '$project computes fields',
    documents: [{ a: 2, b: 3 }],
    pipeline: [{ $project: { _id: 0, a: 1, sum: { $add: ['$a', '$b'] }, renamed: '$b' } }],
    gives: [{ a: 2, sum: 5, renamed: 3 }],
  },
  { title: '$project excludes', documents: [{ a: 2, b: 3 }], pipeline: [{ $project: { a: 0 } }], gives: [{ _id: 0, b: 3 }] },
  {
    title: '$facet runs several pipelines over one input',
    documents: people,
    pipeline: [
      {
        $facet: { total: [{ $count: 'n' }], top: [{ $match: { team: 'b' } }, { $sort: { n: -1 } }, { $limit: 1 }, { $project: { n: 1 } }] },
      },
    ],
    gives: [{ total: [{ n: 5 }], top: [{ _id: 1, n: 5 }] }],
  },
  {
    title: '$replaceRoot puts a part in its place',
    documents: [{ a: { b: 1 } }],
    pipeline: [{ $replaceRoot: { newRoot: '$a' } }],
    gives: [{ b: 1 }],
  },
  {
    title: '$unset removes fields',
    documents: [{ a: 1, b: { c: 1, d: 1 } }],
    pipeline: [{ $unset: ['a', 'b.c'] }],
    gives: [{ _id: 0, b: { d: 1 } }],
  },
  {
    title: '$match after $group sees its fields',
    documents: people,
    pipeline: [{ $group: { _id: '$team', n: { $sum: 1 } } }, { $match: { n: 1 } }],
    gives: [{ _id: null, n: 1 }],
  },
  {
    title: 'a path in an expression maps over arrays',
    documents: [{ a: [{ b: 1 }, { c: 1 }, { b: 2 }] }],
    pipeline: [{ $project: { v: '$a.b', n: { $size: '$a' }, has: { $in: [2, '$a.b'] } } }],
    gives: [{ _id: 0, v: [1, 2], n: 3, has: true }],
  },
  {
    title: 'a missing field is left out, null is kept',
    documents: [{ a: null }],
    pipeline: [{ $project: { x: '$missing', y: '$a' } }],
    gives: [{ _id: 0, y: null }],
  },
  {
    title: '$multiply and $divide',
    documents: [{ a: 6, b: 4 }],
    pipeline: [{ $project: { m: { $multiply: ['$a', '$b'] }, d: { $divide: ['$a', '$b'] }, n: { $multiply: ['$a', null] } } }],
    gives: [{ _id: 0, m: 24, d: 1.5, n: null }],
  },
  {
    title: 'dates are added to and subtracted',
    documents: [{ t: new Date(10_000), u: new Date(4_000) }],
    pipeline: [{ $project: { later: { $add: ['$t', 500] }, gap: { $subtract: ['$t', '$u'] }, earlier: { $subtract: ['$t', 1000] } } }],
    gives: [{ _id: 0, later: new Date(10_500), gap: 6000, earlier: new Date(9_000) }],
  },
  {
    title: 'a missing field is less than anything in a comparison',
    documents: [{ a: 1 }],
    pipeline: [{ $project: { r: { $lt: ['$missing', null] }, s: { $eq: ['$missing', null] } } }],
    gives: [{ _id: 0, r: true, s: false }],
  },
];

interface RefusedCase {
  readonly title: string;
  readonly pipeline: mongo.Document[];
  readonly code: number;
}

const REFUSED: readonly RefusedCase[] = [
  { title: 'an unknown stage is refused', pipeline: [{ $shout: {} }], code: 40324 },
  { title: 'a stage of two fields is refused', pipeline: [{ $match: {}, $sort: { a: 1 } }], code: 40323 },
  { title: 'an unknown accumulator is refused', pipeline: [{ $group: { _id: 1, a: { $shout: 1 } } }], code: 15952 },
  { title: '$group without _id is refused', pipeline: [{ $group: { n: { $sum: 1 } } }], code: 15955 },
  { title: '$limit 0 is refused', pipeline: [{ $limit: 0 }], code: 15958 },
  { title: '$unwind of no path is refused', pipeline: [{ $unwind: 'a' }], code: 28818 },
  { title: '$count with a dollar is refused', pipeline: [{ $count: '$a' }], code: 40158 },
  { title: '$replaceRoot by a scalar is refused', pipeline: [{ $replaceRoot: { newRoot: '$a' } }], code: 40228 },
  { title: '$facet in $facet is refused', pipeline: [{ $facet: { a: [{ $facet: { b: [] } }] } }], code: 40600 },
];

export function aggregateRules(rule: Rule): void {
  for (const { title, documents, pipeline, gives } of CASES) {
    rule(title, async ({ collection }) => {
      await fill(collection, documents);
      expect(await collection.aggregate(pipeline).toArray()).toEqual(gives);
    });
  }
  for (const { title, pipeline, code } of REFUSED) {
    rule(title, async ({ collection }) => {
      await fill(collection, [{ a: 1 }]);
      expect((await failureOf(collection.aggregate(pipeline).toArray())).code).toBe(code);
    });
  }

  rule('an aggregation over a missing collection gives nothing', async ({ collection }) => {
    expect(await collection.aggregate([{ $match: { a: 1 } }]).toArray()).toEqual([]);
    expect(await collection.aggregate([{ $group: { _id: null, n: { $sum: 1 } } }]).toArray()).toEqual([]);
  });

  rule('an aggregation comes in batches', async ({ collection }) => {
    await fill(
      collection,
      Array.from({ length: 500 }, (_, n) => ({ n })),
    );
    const found = await collection.aggregate([{ $sort: { n: 1 } }, { $project: { n: 1 } }], { batchSize: 9 }).toArray();
    expect(found.map((d) => d['n'] as unknown)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });
}
