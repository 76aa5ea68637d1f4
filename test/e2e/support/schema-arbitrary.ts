import { at } from '@wharf/harness';
import fc from 'fast-check';

/** Values that make sense under a name, such as paths that are there; the first pattern that fits the name counts. */
export type Pools = readonly (readonly [pattern: RegExp, values: readonly unknown[]])[];

/** A value that is not what was asked for comes once in so many. */
const ONE_IN = 15;
const EDGES = [0, 1, -1, 2 ** 31, -(2 ** 31), Number.MAX_SAFE_INTEGER, 1e300, 0.5];
const HOSTILE = [
  ...['', ' ', '.', '..', '../..', '/', '//', '\0', 'a\r\nb: c', '%2e%2e%2f', '\u00e9', 'e\u0301', '\u{1f600}'],
  ...['"\'<script>', '{{x}}', '$where', '__proto__'],
];
const LONG = ['x'.repeat(300), 'x/'.repeat(1_000), '['.repeat(2_000)];

/** Values for a JSON Schema as OpenAPI 3.1 has it: mostly fitting ones, and others in their place now and then. */
export function arbitraryOf(schema: unknown, name: string, pools: Pools): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: ONE_IN, arbitrary: fitting(schema, name, pools) }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
}

function fitting(schema: unknown, name: string, pools: Pools): fc.Arbitrary<unknown> {
  const choices = at(schema, 'anyOf') ?? at(schema, 'oneOf');
  if (Array.isArray(choices)) return fc.oneof(...choices.map((choice) => fitting(choice, name, pools)));
  const values = at(schema, 'enum');
  if (Array.isArray(values)) return fc.constantFrom(...values);
  if (at(schema, 'const') !== undefined) return fc.constant(at(schema, 'const'));
  const type = at(schema, 'type');
  if (Array.isArray(type)) return fc.oneof(...type.map((each) => fitting({ ...Object(schema), type: each }, name, pools)));
  const known = pools.find(([pattern]) => pattern.test(name))?.[1] ?? [];
  switch (type) {
    case 'string':
      return fc.oneof(
        { weight: 6, arbitrary: fromPool(known, 'string', fc.string({ maxLength: 12 })) },
        { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
        { weight: 2, arbitrary: fc.constantFrom(...HOSTILE) },
        { weight: 1, arbitrary: fc.constantFrom(...LONG) },
      );
    case 'integer':
    case 'number':
      return fc.oneof(fromPool(known, 'number', fc.nat(50)), fc.integer(), fc.constantFrom(...EDGES));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(at(schema, 'items'), name, pools), { maxLength: 4 });
    case 'object':
      return objectOf(schema, name, pools);
    default:
      return fc.jsonValue({ maxDepth: 3 });
  }
}

function fromPool(known: readonly unknown[], type: string, otherwise: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const values = known.filter((value) => typeof value === type);
  return values.length > 0 ? fc.constantFrom(...values) : otherwise;
}

function objectOf(schema: unknown, name: string, pools: Pools): fc.Arbitrary<unknown> {
  const properties = Object.entries(Object(at(schema, 'properties') ?? {}));
  if (properties.length === 0) return fc.dictionary(fc.string({ maxLength: 5 }), fitting(at(schema, 'additionalProperties'), name, pools));
  const fields = Object.fromEntries(properties.map(([key, each]) => [key, arbitraryOf(each, key, pools)]));
  const needed = at(schema, 'required');
  const requiredKeys = Array.isArray(needed) ? needed.map(String) : [];
  return fc.oneof(
    { weight: ONE_IN, arbitrary: fc.record(fields, { requiredKeys }) },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
  );
}
