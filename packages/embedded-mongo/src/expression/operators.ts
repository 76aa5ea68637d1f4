import { Double, Int32, Long } from 'bson';
import { calculateWidening, NumberSum, toNumber } from '../bson/arithmetic.ts';
import { compareValues } from '../bson/compare.ts';
import { isNumber, type NumberValue, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';

/** An argument, evaluated when it is called: `$and`, `$or` and `$ifNull` stop early, `$add`, `$multiply` and `$concat` at the first null. */
type Argument = () => Value | undefined;

interface Operator {
  readonly counts: { readonly min: number; readonly max: number };
  readonly evaluate: (args: readonly Argument[]) => Value | undefined;
}

const ANY_COUNT = { min: 0, max: Number.POSITIVE_INFINITY };
const TWO = { min: 2, max: 2 };
const ONE = { min: 1, max: 1 };

/** Every operator of an expression except `$literal` and `$cond`, which do not take plain arguments. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$add', { counts: ANY_COUNT, evaluate: add }],
  ['$subtract', { counts: TWO, evaluate: subtract }],
  ['$multiply', { counts: ANY_COUNT, evaluate: multiply }],
  ['$divide', { counts: TWO, evaluate: divide }],
  ['$eq', comparison((order) => order === 0)],
  ['$ne', comparison((order) => order !== 0)],
  ['$gt', comparison((order) => order > 0)],
  ['$gte', comparison((order) => order >= 0)],
  ['$lt', comparison((order) => order < 0)],
  ['$lte', comparison((order) => order <= 0)],
  ['$and', { counts: ANY_COUNT, evaluate: (args) => args.every((argument) => isTrue(argument())) }],
  ['$or', { counts: ANY_COUNT, evaluate: (args) => args.some((argument) => isTrue(argument())) }],
  ['$not', { counts: ONE, evaluate: ([argument]) => !isTrue(argument?.()) }],
  ['$ifNull', { counts: { min: 2, max: Number.POSITIVE_INFINITY }, evaluate: ifNull }],
  ['$concat', { counts: ANY_COUNT, evaluate: concat }],
  ['$max', { counts: ANY_COUNT, evaluate: (args) => extreme(args, 1) }],
  ['$min', { counts: ANY_COUNT, evaluate: (args) => extreme(args, -1) }],
  ['$size', { counts: ONE, evaluate: size }],
  ['$in', { counts: TWO, evaluate: contains }],
]);

/** The order of expressions: a missing field is below null. */
function compareWithMissing(a: Value | undefined, b: Value | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return compareValues(a, b);
}

function comparison(test: (order: number) => boolean): Operator {
  return { counts: TWO, evaluate: ([a, b]) => test(compareWithMissing(a?.(), b?.())) };
}

function isTrue(value: Value | undefined): boolean {
  if (value === undefined || value === null || value === false) return false;
  return !isNumber(value) || toNumber(value) !== 0;
}

function isNullish(value: Value | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function add(args: readonly Argument[]): Value {
  const sum = new NumberSum();
  let date: Date | undefined;
  for (const argument of args) {
    const value = argument();
    if (isNullish(value)) return null;
    if (value instanceof Date) {
      if (date) throw new CommandError('TypeMismatch', 'only one date allowed in an $add expression');
      date = value;
    } else if (isNumber(value)) sum.add(value);
    else throw new CommandError('TypeMismatch', `$add only supports numeric or date types, not ${typeName(value)}`);
  }
  return date ? dateOf(date.getTime() + Math.round(toNumber(sum.result()))) : sum.result();
}

function subtract([first, second]: readonly Argument[]): Value {
  const a = first?.();
  const b = second?.();
  if (isNullish(a) || isNullish(b)) return null;
  if (isNumber(a) && isNumber(b)) return calculateWidening('subtract', a, b);
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date && isNumber(b)) return dateOf(a.getTime() - Math.round(toNumber(b)));
  throw new CommandError('TypeMismatch', `can't $subtract ${typeName(b)} from ${typeName(a)}`);
}

function dateOf(timeMs: number): Date {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) throw new CommandError('Overflow', 'the date is out of range');
  return date;
}

function multiply(args: readonly Argument[]): Value {
  let product: NumberValue = new Int32(1);
  for (const argument of args) {
    const value = argument();
    if (isNullish(value)) return null;
    if (!isNumber(value)) throw new CommandError('TypeMismatch', `$multiply only supports numeric types, not ${typeName(value)}`);
    product = calculateWidening('multiply', product, value);
  }
  return product;
}

function divide([first, second]: readonly Argument[]): Value {
  const a = first?.();
  const b = second?.();
  if (isNullish(a) || isNullish(b)) return null;
  if (!isNumber(a) || !isNumber(b))
    throw new CommandError('TypeMismatch', `$divide only supports numeric types, not ${typeName(a)} and ${typeName(b)}`);
  if (toNumber(b) === 0) throw new CommandError('BadValue', "can't $divide by zero");
  return new Double(toNumber(a) / toNumber(b));
}

function ifNull(args: readonly Argument[]): Value | undefined {
  for (const argument of args.slice(0, -1)) {
    const value = argument();
    if (!isNullish(value)) return value;
  }
  return args[args.length - 1]?.();
}

function concat(args: readonly Argument[]): Value {
  let text = '';
  for (const argument of args) {
    const value = argument();
    if (isNullish(value)) return null;
    if (typeof value !== 'string') throw new CommandError('Location16702', `$concat only supports strings, not ${typeName(value)}`);
    text += value;
  }
  return text;
}

function extreme(args: readonly Argument[], sign: 1 | -1): Value {
  const values = args.map((argument) => argument());
  const [only] = values;
  const candidates = values.length === 1 && Array.isArray(only) ? only : values;
  let best: Value = null;
  for (const value of candidates) {
    if (isNullish(value)) continue;
    if (best === null || compareValues(value, best) * sign > 0) best = value;
  }
  return best;
}

function size([argument]: readonly Argument[]): Value {
  const value = argument?.();
  if (!Array.isArray(value))
    throw new CommandError('Location17124', `The argument to $size must be an array, but was of type: ${typeName(value)}`);
  return new Int32(value.length);
}

function contains([needle, haystack]: readonly Argument[]): Value {
  const wanted = needle?.();
  const array = haystack?.();
  if (!Array.isArray(array))
    throw new CommandError('Location40081', `$in requires an array as a second argument, found: ${typeName(array)}`);
  return wanted !== undefined && array.some((element) => compareValues(element, wanted) === 0);
}
