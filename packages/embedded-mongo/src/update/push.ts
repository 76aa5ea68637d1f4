import { toSafeInteger } from '../bson/arithmetic.ts';
import { compareValues } from '../bson/compare.ts';
import { KeyWriter } from '../bson/key-encoding.ts';
import { cloneValue, getField, isDoc, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { parseKeyPattern, sortKey } from '../query/key-pattern.ts';
import type { Modifier } from './modifier.ts';

const MODIFIERS: ReadonlySet<string> = new Set(['$each', '$slice', '$sort', '$position']);

/** `$push`, with `$each` and what may stand beside it. The order of work is insert, sort, slice. */
export function compilePush(path: string, operand: Value): Modifier {
  if (!isDoc(operand) || !Object.hasOwn(operand, '$each')) return (current, { id }) => [...arrayOf(current, path, id), cloneValue(operand)];
  const each = getField(operand, '$each');
  if (!Array.isArray(each)) throw new CommandError('BadValue', 'The argument to $each in $push must be an array');
  const unknown = Object.keys(operand).find((name) => !MODIFIERS.has(name));
  if (unknown !== undefined) throw new CommandError('BadValue', `Unrecognized clause in $push: ${unknown}`);
  const position = readInteger(operand, '$position');
  const slice = readInteger(operand, '$slice');
  const order = readSort(getField(operand, '$sort'));
  return (current, { id }) => {
    const result = [...arrayOf(current, path, id)];
    // A negative position counts from the end; beyond either end it is that end.
    const at =
      position === undefined ? result.length : position < 0 ? Math.max(0, result.length + position) : Math.min(position, result.length);
    const additions = each.map(cloneValue);
    const pushed = [...result.slice(0, at), ...additions, ...result.slice(at)];
    const sorted = order ? order(pushed) : pushed;
    if (slice === undefined) return sorted;
    if (slice === 0) return [];
    return slice > 0 ? sorted.slice(0, slice) : sorted.slice(slice);
  };
}

function arrayOf(current: Value | undefined, path: string, id: Value | undefined): readonly Value[] {
  if (current === undefined) return [];
  if (Array.isArray(current)) return current;
  const owner = id === undefined ? '' : ' in the document';
  throw new CommandError('BadValue', `The field '${path}' must be an array but is of type ${typeName(current)}${owner}`);
}

function readInteger(operand: Value, name: string): number | undefined {
  const value = isDoc(operand) ? getField(operand, name) : undefined;
  if (value === undefined) return undefined;
  const number = toSafeInteger(value);
  if (number === undefined) throw new CommandError('BadValue', `The value for ${name} must be an integer value`);
  return number;
}

type Sorter = (array: readonly Value[]) => Value[];

function readSort(spec: Value | undefined): Sorter | undefined {
  if (spec === undefined) return undefined;
  const sign = toSafeInteger(spec);
  if (sign === 1 || sign === -1) return (array) => array.toSorted((a, b) => compareValues(a, b) * sign);
  if (!isDoc(spec) || Object.keys(spec).length === 0)
    throw new CommandError('BadValue', 'The $sort in $push must be 1, -1, or a document of fields with 1 or -1');
  const pattern = parseKeyPattern(spec);
  const writer = new KeyWriter();
  return (array) =>
    array
      .map((element) => ({ element, key: sortKey(isDoc(element) ? element : {}, pattern, writer) }))
      .sort((a, b) => Buffer.compare(a.key, b.key))
      .map(({ element }) => element);
}
