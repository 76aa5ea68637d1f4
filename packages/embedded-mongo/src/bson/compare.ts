import { Binary, BSONRegExp, ObjectId } from 'bson';
import { isDoc, isNumber, type NumberValue, numeric, typeRank, type Value } from './value.ts';

/**
 * The total order of BSON values, over all types.
 *
 * Numbers of different types compare by value; NaN is below every other number and equal to itself. Strings compare by their UTF-8 bytes.
 *
 * @returns negative, zero or positive, as for Array.sort.
 */
export function compareValues(a: Value, b: Value): number {
  const rank = typeRank(a);
  const difference = rank - typeRank(b);
  if (difference !== 0) return difference;
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (a instanceof ObjectId && b instanceof ObjectId) return Buffer.compare(a.id, b.id);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (a instanceof Binary && b instanceof Binary) return compareBinaries(a, b);
  if (Array.isArray(a) && Array.isArray(b)) return compareArrays(a, b);
  if (a instanceof BSONRegExp && b instanceof BSONRegExp) {
    return compareStrings(a.pattern, b.pattern) || compareStrings(a.options, b.options);
  }
  if (isDoc(a) && isDoc(b)) {
    const names = Object.keys(a);
    const others = Object.keys(b);
    const shared = Math.min(names.length, others.length);
    for (let i = 0; i < shared; i++) {
      const name = names[i] ?? '';
      const other = others[i] ?? '';
      const left = a[name] ?? null;
      const right = b[other] ?? null;
      const order = typeRank(left) - typeRank(right) || compareStrings(name, other) || compareValues(left, right);
      if (order !== 0) return order;
    }
    return names.length - others.length;
  }
  return 0;
}

export function equalValues(a: Value, b: Value): boolean {
  return compareValues(a, b) === 0;
}

function compareNumbers(a: NumberValue, b: NumberValue): number {
  const left = numeric(a);
  const right = numeric(b);
  if (left < right) return -1;
  if (left > right) return 1;
  return Number(Number.isNaN(right)) - Number(Number.isNaN(left));
}

/** UTF-8 byte order. UTF-16 code units order alike, except that surrogates (U+10000 and above) sort after U+E000..U+FFFF. */
function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return surrogatesLast(left) - surrogatesLast(right);
  }
  return a.length - b.length;
}

function surrogatesLast(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function compareBinaries(a: Binary, b: Binary): number {
  return a.length() - b.length() || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value());
}

function compareArrays(a: readonly Value[], b: readonly Value[]): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
