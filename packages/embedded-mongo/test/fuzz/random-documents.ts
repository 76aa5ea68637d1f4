import { mongo } from 'mongoose';
import type { Random } from './random.ts';

const { Binary, Double, Int32, Long, ObjectId } = mongo;

/** Fields that hold anything. */
const FIELDS = ['a', 'b', 'c'] as const;
export const IDS = 40;

/** Values collide often on purpose: few of each type, and equal numbers of different types. */
export function randomScalar(random: Random): unknown {
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return new Int32(random.below(7) - 2);
    case 4:
      return new Double((random.below(12) - 4) / 2);
    case 5:
      return Long.fromNumber(random.below(7) - 2);
    case 6:
      return random.chance(0.5)
        ? Long.fromString(random.pick(['9007199254740993', '9007199254740992', '-9007199254740993']))
        : new Double(9007199254740992);
    case 7:
    case 8:
      return random.pick(['', 'a', 'ab', 'abc', 'b', 'B', 'é', '\u{1F600}', '\uFFFD']);
    case 9:
      return null;
    case 10:
      return random.chance(0.5);
    case 11:
      return new Date(random.below(4) * 1000 - 1000);
    case 12:
      return new ObjectId(`0000000000000000000000${random.pick(['01', '02', 'ff'])}`);
    default:
      return new Binary(Buffer.from(random.pick(['', 'x', 'yz'])), random.below(2) * 128);
  }
}

export function randomValue(random: Random, depth = 0): unknown {
  const kind = random.below(10);
  if (depth < 2 && kind === 0) return random.times(1 + random.below(3), () => randomValue(random, depth + 1));
  if (depth < 2 && kind === 1) return randomFields(random, ['x', 'y', 'a'], depth + 1);
  if (depth < 1 && kind === 2) return random.times(1 + random.below(2), () => randomFields(random, ['x', 'y'], depth + 1));
  return randomScalar(random);
}

function randomFields(random: Random, names: readonly string[], depth: number): mongo.Document {
  const document: mongo.Document = {};
  for (const name of random.some(names, random.below(names.length + 1))) document[name] = randomValue(random, depth);
  return document;
}

/** No documents: the engines order those differently. */
export function randomFlat(random: Random): unknown {
  return random.chance(0.25) ? random.times(1 + random.below(3), () => randomScalar(random)) : randomScalar(random);
}

/**
 * `d` is sorted by and never holds documents. `n` is summed up, exactly whatever the order. `u` is the field of the unique index: scalars only,
 * since the engines differ over arrays there.
 */
export function randomDocument(random: Random): mongo.Document {
  const document: mongo.Document = { _id: new Int32(random.below(IDS)), ...randomFields(random, FIELDS, 0) };
  if (random.chance(0.7)) document['d'] = randomFlat(random);
  if (random.chance(0.7))
    document['n'] = random.pick([new Int32(random.below(9)), new Double(random.below(9) / 2), Long.fromNumber(random.below(9)), 'none']);
  if (random.chance(0.4)) document['u'] = random.chance(0.8) ? new Int32(random.below(30)) : randomScalar(random);
  return document;
}

export function randomPath(random: Random): string {
  return random.pick(['a', 'a', 'b', 'b', 'c', 'd', 'a.x', 'b.y', 'c.x', 'a.x.y', 'b.a', 'n']);
}
