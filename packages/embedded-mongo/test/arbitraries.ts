import { Binary, Double, Int32, Long, ObjectId } from 'bson';
import fc from 'fast-check';
import type { Doc, Value } from '../src/bson/value.ts';

/** Numbers of all types, often equal to each other, at the edges of what a double holds exactly. */
const number: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map((n) => new Int32(n)),
  fc.integer({ min: -6, max: 6 }).map((n) => new Double(n / 2)),
  fc.integer({ min: -3, max: 3 }).map((n) => Long.fromNumber(n)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((n) => Long.fromBigInt(n)),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map((n) => Long.fromBigInt(n)),
  fc.double().map((n) => new Double(n)),
  fc
    .constantFrom(2 ** 53, 2 ** 63, -(2 ** 63), 2 ** 53 + 2, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0)
    .map((n) => new Double(n)),
);

const text = fc.oneof(
  fc.constantFrom('', 'a', 'ab', 'a\0', 'a\0b', 'a\u0001', 'a\u0002', 'b', '\uFFFD', '\u{1F600}'),
  fc.string({ unit: 'binary', maxLength: 4 }).map((s) => s.toWellFormed()),
);

const scalar: fc.Arbitrary<Value> = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 2, arbitrary: text },
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -5, max: 5 }).map((ms) => new Date(ms)),
  fc.constantFrom('00', '01', 'ff').map((end) => new ObjectId(`0000000000000000000000${end}`)),
  fc.tuple(fc.uint8Array({ maxLength: 3 }), fc.constantFrom(0, 128)).map(([bytes, subType]) => new Binary(Buffer.from(bytes), subType)),
);

const nested = fc.letrec<{ value: Value; array: Value[]; doc: Doc }>((tie) => ({
  value: fc.oneof({ maxDepth: 2, withCrossShrink: true }, { weight: 5, arbitrary: scalar }, tie('array'), tie('doc')),
  array: fc.array(tie('value'), { maxLength: 3 }),
  doc: fc.dictionary(fc.constantFrom('x', 'y', 'a', '1'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
}));

export const value: fc.Arbitrary<Value> = nested.value;

/** A document of a collection with the fields that the tests index. */
export const document: fc.Arbitrary<Doc> = fc.record({ a: value, b: value, c: nested.array }, { requiredKeys: [], noNullPrototype: true });

export { scalar };
