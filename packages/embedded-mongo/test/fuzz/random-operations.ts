import { mongo } from 'mongoose';
import type { Random } from './random.ts';
import { IDS, randomDocument, randomFlat, randomPath, randomScalar, randomValue } from './random-documents.ts';

const { Int32 } = mongo;

/** One operation as data: it can be printed and run again. */
export type Operation =
  | { readonly kind: 'insert'; readonly documents: mongo.Document[]; readonly ordered: boolean }
  | {
      readonly kind: 'find';
      readonly filter: mongo.Document;
      readonly sort: mongo.Document;
      readonly skip: number;
      readonly limit: number;
      readonly projection: mongo.Document;
    }
  | { readonly kind: 'count'; readonly filter: mongo.Document }
  | { readonly kind: 'distinct'; readonly key: string; readonly filter: mongo.Document }
  | {
      readonly kind: 'updateOne' | 'updateMany';
      readonly filter: mongo.Document;
      readonly update: mongo.Document | mongo.Document[];
      readonly upsert: boolean;
    }
  | { readonly kind: 'replaceOne'; readonly filter: mongo.Document; readonly replacement: mongo.Document; readonly upsert: boolean }
  | { readonly kind: 'deleteMany'; readonly filter: mongo.Document }
  | {
      readonly kind: 'findAndModify';
      readonly filter: mongo.Document;
      readonly sort: mongo.Document;
      readonly update: mongo.Document | undefined;
      readonly after: boolean;
      readonly upsert: boolean;
    }
  | { readonly kind: 'aggregate'; readonly pipeline: mongo.Document[] }
  | { readonly kind: 'createIndex'; readonly key: Record<string, 1 | -1>; readonly options: mongo.CreateIndexesOptions }
  | { readonly kind: 'dropIndexes' };

export function randomOperation(random: Random): Operation {
  const roll = random.below(100);
  if (roll < 18)
    return { kind: 'insert', documents: random.times(1 + random.below(4), () => randomDocument(random)), ordered: random.chance(0.7) };
  if (roll < 45) {
    const sort = randomSort(random);
    const isCut = random.chance(0.5);
    return {
      kind: 'find',
      filter: randomFilter(random),
      sort,
      skip: isCut ? random.below(4) : 0,
      limit: isCut ? random.below(6) : 0,
      projection: randomProjection(random),
    };
  }
  if (roll < 50) return { kind: 'count', filter: randomFilter(random) };
  if (roll < 53) return { kind: 'distinct', key: randomPath(random), filter: randomFilter(random) };
  if (roll < 66) return { kind: 'updateOne', filter: { _id: randomId(random) }, update: randomUpdate(random), upsert: random.chance(0.2) };
  if (roll < 72) return { kind: 'updateMany', filter: randomFilter(random), update: randomUpdate(random), upsert: false };
  if (roll < 76) {
    const { _id: _dropped, ...replacement } = randomDocument(random);
    return { kind: 'replaceOne', filter: { _id: randomId(random) }, replacement, upsert: random.chance(0.3) };
  }
  if (roll < 79)
    return {
      kind: 'deleteMany',
      filter: random.chance(0.6) ? { _id: randomId(random) } : { $and: [randomFilter(random), { _id: { $lt: randomId(random) } }] },
    };
  if (roll < 89) {
    const isById = random.chance(0.3);
    return {
      kind: 'findAndModify',
      filter: isById ? { _id: randomId(random) } : randomFilter(random),
      sort: randomSort(random),
      update: random.chance(0.8) ? randomOperators(random) : undefined,
      after: random.chance(0.5),
      upsert: isById && random.chance(0.3),
    };
  }
  if (roll < 98) return { kind: 'aggregate', pipeline: randomPipeline(random) };
  if (roll < 99) return randomIndex(random);
  return random.chance(0.3) ? { kind: 'dropIndexes' } : randomIndex(random);
}

function randomId(random: Random): mongo.Int32 {
  return new Int32(random.below(IDS));
}

/**
 * Ends with `_id`, so that the order of a result is fully determined. One field at most may hold arrays: a sort by two parallel arrays is refused by
 * MongoDB and not by DocumentDB.
 */
function randomSort(random: Random): mongo.Document {
  const sort: mongo.Document = {};
  if (random.chance(0.2)) sort['u'] = random.pick([1, -1]);
  if (random.chance(0.6)) sort['d'] = random.pick([1, -1]);
  return { ...sort, _id: random.pick([1, -1]) };
}

function randomProjection(random: Random): mongo.Document {
  if (random.chance(0.6)) return {};
  const shown = random.pick([0, 1]);
  const names = random.some(['a', 'b', 'c', 'd'], 1 + random.below(2)).map((name) => (random.chance(0.4) ? `${name}.x` : name));
  return Object.fromEntries(names.map((name) => [name, shown]));
}

function randomFilter(random: Random, depth = 0): mongo.Document {
  if (random.chance(0.08)) return {};
  if (depth < 2 && random.chance(0.15)) {
    return { [random.pick(['$and', '$or', '$nor'])]: random.times(1 + random.below(2), () => randomFilter(random, depth + 1)) };
  }
  const filter: mongo.Document = {};
  for (let i = 0; i <= random.below(2); i++) filter[random.chance(0.15) ? 'u' : randomPath(random)] = randomCondition(random);
  if (random.chance(0.1)) filter['_id'] = { [random.pick(['$lt', '$gte', '$ne'])]: randomId(random) };
  return filter;
}

function randomCondition(random: Random): unknown {
  if (random.chance(0.3)) return randomValue(random, 1);
  const condition: mongo.Document = {};
  for (let i = 0; i <= random.below(2); i++) Object.assign(condition, randomOperator(random));
  return condition;
}

function randomOperator(random: Random): mongo.Document {
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      return { [random.pick(['$gt', '$gte', '$lt', '$lte'])]: randomScalar(random) };
    case 3:
      return { $eq: randomValue(random, 1) };
    case 4:
      return { $ne: randomScalar(random) };
    case 5:
    case 6:
      return { [random.pick(['$in', '$in', '$nin'])]: random.times(random.below(4), () => randomScalar(random)) };
    case 7:
      return { $exists: random.chance(0.5) };
    case 8:
      return {
        $type: random.pick(['int', 'string', 'object', 'array', 'null', 'number', 'date', 'bool', 'long', 'double', 'objectId', 'binData']),
      };
    case 9:
      return random.chance(0.5) ? { $size: random.below(3) } : { $mod: [2, random.below(2)] };
    case 10:
      return { $not: { [random.pick(['$gt', '$lte', '$eq'])]: randomScalar(random) } };
    default:
      return random.pick([
        { $all: random.times(1 + random.below(2), () => randomScalar(random)) },
        { $elemMatch: { [random.pick(['$gt', '$lt'])]: randomScalar(random) } },
        { $elemMatch: { x: randomScalar(random) } },
        { $regex: random.pick(['^a', 'b', '^ab', 'B']), $options: random.pick(['', 'i']) },
      ]);
  }
}

function randomUpdate(random: Random): mongo.Document | mongo.Document[] {
  return random.chance(0.2) ? randomUpdatePipeline(random) : randomOperators(random);
}

/**
 * Two fields at most, in the order of their names, and apart: MongoDB refuses conflicts before it looks for documents, and adds new fields in the
 * order of their names; DocumentDB does neither.
 */
function randomOperators(random: Random): mongo.Document {
  const update: mongo.Document = {};
  const paths = random.some(['a', 'b', 'c', 'd', 'u'], 1 + random.below(2)).sort();
  for (const name of paths) {
    const path = name !== 'u' && name !== 'd' && random.chance(0.3) ? `${name}.${random.pick(['x', 'y', '0', '1'])}` : name;
    const isNested = path !== name;
    const operators = isNested ? SETTERS : [...SETTERS, ...ARRAY_OPERATORS];
    const operator = name === 'u' ? random.pick(['$set', '$unset']) : random.pick(operators);
    if (operator === '$rename' && paths.length > 1) continue;
    update[operator] = { ...(update[operator] as mongo.Document | undefined), [path]: randomOperand(random, operator, path) };
  }
  return Object.keys(update).length === 0 ? { $set: { d: randomFlat(random) } } : update;
}

const SETTERS = ['$set', '$set', '$set', '$unset', '$inc', '$mul', '$min', '$max', '$push', '$addToSet', '$setOnInsert'];
/** Of top level fields only: below a missing field DocumentDB makes documents for them, where MongoDB does nothing. */
const ARRAY_OPERATORS = ['$pull', '$pull', '$pullAll', '$pop', '$rename'];

function randomOperand(random: Random, operator: string, path: string): unknown {
  switch (operator) {
    case '$unset':
      return '';
    case '$inc':
    case '$mul':
      return random.pick([new Int32(2), new Int32(-1), new mongo.Double(0.5), mongo.Long.fromNumber(3)]);
    case '$pop':
      return random.pick([1, -1]);
    case '$pullAll':
      return random.times(random.below(3), () => randomScalar(random));
    case '$pull':
      return random.pick([() => randomScalar(random), () => ({ $gt: randomScalar(random) }), () => ({ x: randomScalar(random) })])();
    case '$addToSet':
      if (random.chance(0.6)) return path === 'd' ? randomScalar(random) : randomValue(random, 1);
      return { $each: random.times(1 + random.below(3), () => randomScalar(random)) };
    case '$push':
      if (random.chance(0.4)) return path === 'd' ? randomScalar(random) : randomValue(random, 1);
      return randomEach(random, path === 'd');
    case '$rename':
      return 'r';
    case '$min':
    case '$max':
      return randomScalar(random);
    default:
      if (path === 'd') return randomFlat(random);
      return path === 'u' ? randomScalar(random) : randomValue(random, 1);
  }
}

function randomEach(random: Random, isFlat: boolean): mongo.Document {
  return {
    $each: random.times(1 + random.below(3), () => randomScalar(random)),
    ...(random.chance(0.4) && { $position: random.below(5) - 2 }),
    ...(random.chance(0.4) && { $slice: random.pick([-2, -1, 1, 2, 3]) }),
    ...(isFlat && random.chance(0.5) && { $sort: random.pick([1, -1]) }),
  };
}

function randomUpdatePipeline(random: Random): mongo.Document[] {
  return random.times(1 + random.below(2), () =>
    random.pick([
      () => ({ $set: { [random.pick(['a', 'b'])]: randomExpression(random) } }),
      () => ({ $unset: random.pick(['a', 'b.x', 'c']) }),
    ])(),
  );
}

function randomExpression(random: Random, depth = 0): unknown {
  const operand = (): unknown => (depth < 2 && random.chance(0.3) ? randomExpression(random, depth + 1) : randomOperandExpression(random));
  switch (random.below(9)) {
    case 0:
      return { [random.pick(['$add', '$multiply'])]: [operand(), operand()] };
    case 1:
      return { $subtract: [operand(), operand()] };
    case 2:
      return { $cond: [{ [random.pick(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'])]: [operand(), operand()] }, operand(), operand()] };
    case 3:
      return { $ifNull: [operand(), operand()] };
    case 4:
      return { [random.pick(['$and', '$or'])]: [operand(), operand()] };
    case 5:
      return { [random.pick(['$max', '$min'])]: [operand(), operand()] };
    case 6:
      return { $literal: randomValue(random, 1) };
    case 7:
      return { $not: [operand()] };
    default:
      return random.pick(['$a', '$b.y', '$c']);
  }
}

function randomOperandExpression(random: Random): unknown {
  return random.pick([
    () => '$d',
    () => '$u',
    () => '$n',
    () => '$missing',
    () => new Int32(random.below(5)),
    () => null,
    () => ({ $literal: randomScalar(random) }),
  ])();
}

function randomPipeline(random: Random): mongo.Document[] {
  const middle = random.pick<() => mongo.Document[]>([
    () => [
      {
        $group: {
          _id: random.pick([{ $ifNull: ['$a', null] }, { $ifNull: ['$b', null] }, { $ifNull: ['$a.x', null] }, null]),
          n: { $sum: 1 },
          first: { $min: '$_id' },
          s: { $sum: '$n' },
          v: { $avg: '$n' },
          lo: { $min: '$d' },
          hi: { $max: '$d' },
        },
      },
      { $sort: { n: -1, first: 1 } },
      { $project: { _id: 0 } },
    ],
    () => [{ $unwind: { path: random.pick(['$a', '$b', '$c']), preserveNullAndEmptyArrays: random.chance(0.5) } }],
    () => [{ $project: { v: randomExpression(random), a: 1 } }],
    () => [{ $addFields: { e: randomExpression(random) } }],
    () => [{ $facet: { x: [{ $match: randomFilter(random) }, { $project: { _id: 1 } }], y: [{ $skip: 1 }, { $limit: 3 }] } }],
    () => [{ $skip: random.below(3) }, { $limit: 1 + random.below(4) }],
  ]);
  return [{ $match: randomFilter(random) }, { $sort: randomSort(random) }, ...middle()];
}

function randomIndex(random: Random): Operation {
  const options: mongo.CreateIndexesOptions = random.pick<mongo.CreateIndexesOptions>([
    {},
    {},
    { sparse: true },
    { partialFilterExpression: { a: { $gt: 0 } } },
    { partialFilterExpression: { b: { $exists: true } } },
  ]);
  const isUnique = random.chance(0.3);
  if (isUnique) return { kind: 'createIndex', key: { u: 1 }, options: { unique: true, sparse: true, name: 'u_unique' } };
  const name = random.pick(['a', 'b', 'c', 'a.x', 'b.y', 'd']);
  // Two arrays in one index are refused by MongoDB and accepted by DocumentDB.
  const names = random.chance(0.7)
    ? [name]
    : random.pick([
        ['u', name],
        [name, 'u'],
        [name, '_id'],
      ]);
  const key = Object.fromEntries(names.map((each) => [each, random.pick<1 | -1>([1, -1])]));
  return {
    kind: 'createIndex',
    key,
    options: {
      ...options,
      name: `${Object.entries(key).flat().join('_')}_${Object.keys(options).join('')}${JSON.stringify(options.partialFilterExpression ?? '')}`,
    },
  };
}
