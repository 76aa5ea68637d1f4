import type { BSONRegExp } from 'bson';
import { toNumber } from '../bson/arithmetic.ts';
import { compareValues, equalValues } from '../bson/compare.ts';
import { isNumber, typeName, typeRank, type Value } from '../bson/value.ts';

/** A test of one value. The filter decides which values it tests: leaves, or leaves and array elements. */
export type Predicate =
  | { readonly op: 'eq' | 'gt' | 'gte' | 'lt' | 'lte'; readonly operand: Value }
  | { readonly op: 'in'; readonly operands: readonly Value[]; readonly patterns: readonly RegExp[] }
  | { readonly op: 'regex'; readonly pattern: RegExp }
  | { readonly op: 'exists' }
  | { readonly op: 'type'; readonly names: ReadonlySet<string> }
  | { readonly op: 'mod'; readonly divisor: bigint; readonly remainder: bigint };

/** Applies a predicate to one value; undefined is a missing field. */
export function testPredicate(predicate: Predicate, value: Value | undefined): boolean {
  switch (predicate.op) {
    case 'eq':
      return isEqual(predicate.operand, value);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return isInRange(predicate.op, predicate.operand, value);
    case 'in':
      return (
        predicate.operands.some((operand) => isEqual(operand, value)) ||
        (typeof value === 'string' && predicate.patterns.some((pattern) => pattern.test(value)))
      );
    case 'regex':
      return typeof value === 'string' && predicate.pattern.test(value);
    case 'exists':
      return value !== undefined;
    case 'type':
      return value !== undefined && hasType(predicate.names, value);
    case 'mod': {
      if (!isNumber(value)) return false;
      const dividend = toNumber(value);
      return Number.isFinite(dividend) && wholePart(value) % predicate.divisor === predicate.remainder;
    }
  }
}

/** The whole part of a finite number. */
export function wholePart(value: Value): bigint {
  if (!isNumber(value)) return 0n;
  const number = toNumber(value);
  return Number.isSafeInteger(number) ? BigInt(number) : 'toBigInt' in value ? value.toBigInt() : BigInt(Math.trunc(number));
}

function isEqual(operand: Value, value: Value | undefined): boolean {
  if (value === undefined) return operand === null;
  if (typeof operand === 'string') return operand === value;
  return equalValues(operand, value);
}

/** Ranges hold within one type only. Null is equal to null and to a missing field, so it answers the inclusive ones. */
function isInRange(op: 'gt' | 'gte' | 'lt' | 'lte', operand: Value, value: Value | undefined): boolean {
  const inclusive = op === 'gte' || op === 'lte';
  if (operand === null) return inclusive && (value === undefined || value === null);
  if (value === undefined || typeRank(value) !== typeRank(operand)) return false;
  if (isNaNumber(operand) || isNaNumber(value)) return inclusive && isNaNumber(operand) && isNaNumber(value);
  const order = compareValues(value, operand);
  if (order === 0) return inclusive;
  return op === 'gt' || op === 'gte' ? order > 0 : order < 0;
}

function isNaNumber(value: Value): boolean {
  return isNumber(value) && Number.isNaN(toNumber(value));
}

function hasType(names: ReadonlySet<string>, value: Value): boolean {
  return names.has(typeName(value)) || (names.has('number') && isNumber(value));
}

/** Options that mean the same in PCRE and in JavaScript. */
const REGEX_OPTIONS = /^[imsu]*$/;

/**
 * Compiles a pattern, or answers undefined when it or its options are not supported.
 *
 * JavaScript's engine backtracks: patterns must come from code, never from users (README, "Limits").
 */
export function compilePattern(regex: BSONRegExp | { pattern: string; options: string }): RegExp | undefined {
  if (!REGEX_OPTIONS.test(regex.options)) return undefined;
  const flags = new Set(`${regex.options.replaceAll('u', '')}u`);
  try {
    return new RegExp(regex.pattern, [...flags].join(''));
  } catch {
    return undefined;
  }
}
