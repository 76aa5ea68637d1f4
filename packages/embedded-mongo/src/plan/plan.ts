import { toNumber } from '../bson/arithmetic.ts';
import { isNumber, type Value } from '../bson/value.ts';
import type { Conjunct, Filter } from '../query/filter.ts';
import type { KeyPattern } from '../query/key-pattern.ts';
import { type Predicate, testPredicate } from '../query/predicate.ts';
import type { Collection } from '../storage/collection.ts';
import type { KeyRange } from '../storage/key-table.ts';
import type { ReadableIndex } from '../storage/secondary-index.ts';
import { holdsNull, type Interval, intersect, keyRange, pointPrefix, predicateIntervals, prefixRange } from './bounds.ts';

/** How the candidates of a filter are found. Every candidate is still tested against the whole filter. */
export type Plan =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'index';
      readonly index: ReadableIndex;
      /** Ascending and apart. */
      readonly ranges: readonly KeyRange[];
      readonly reverse: boolean;
      /** True when the candidates come in the wanted order. */
      readonly isSorted: boolean;
      /** False: all that the index has are candidates. */
      readonly isNarrow: boolean;
    };

/** Several values for several fields multiply; beyond this many ranges the remaining fields are left to the filter. Those of one field are as many as were asked for. */
const MAX_RANGES = 200;

interface Bounds {
  readonly ranges: readonly KeyRange[];
  /** Leading fields that are fixed to points. */
  readonly pointFields: number;
  readonly hasRange: boolean;
  /** True when the leading fields have one combination of points only. */
  readonly isSinglePrefix: boolean;
}

/**
 * Chooses the index that narrows the candidates down most, or that saves sorting.
 *
 * The candidates are always a superset of the matches: see README, "Planner", for why in each case.
 */
export function choosePlan(collection: Collection, filter: Filter, sort: KeyPattern | undefined): Plan {
  let best: Plan = { kind: 'all' };
  let bestScore = 0;
  for (const index of [collection.idIndex, ...collection.indexes]) {
    if (index.partial && !implies(filter, index.partial.filter)) continue;
    const bounds = indexBounds(index, filter.conjuncts);
    // Of one `_id` there is one document at most: no other index knows better, and it is in any order.
    if (index === collection.idIndex && bounds.pointFields > 0 && bounds.ranges.length === 1)
      return { kind: 'index', index, ranges: bounds.ranges, reverse: false, isSorted: true, isNarrow: true };
    if (index.sparse && !excludesMissing(index, filter.conjuncts)) continue;
    const direction = sort && !index.multikey ? sortDirection(index, sort, bounds) : undefined;
    const score = bounds.pointFields * 4 + (bounds.hasRange ? 2 : 0) + (direction === undefined ? 0 : 3);
    if (score <= bestScore) continue;
    bestScore = score;
    best = {
      kind: 'index',
      index,
      ranges: bounds.ranges,
      reverse: direction === 'backward',
      isSorted: direction !== undefined,
      isNarrow: isBound(bounds) || index.partial !== undefined,
    };
  }
  const isWorthKeeping = best.kind === 'index' && (best.isNarrow || (sort !== undefined && sort.length > 0));
  return isWorthKeeping ? best : (planOfAlternatives(collection, filter) ?? best);
}

/** The index that narrows down each of the alternatives, with the ranges of all. */
function planOfAlternatives(collection: Collection, { alternatives }: Filter): Plan | undefined {
  if (alternatives.length === 0) return undefined;
  for (const index of [collection.idIndex, ...collection.indexes]) {
    if (index.partial || index.sparse) continue;
    const each = alternatives.map(({ conjuncts }) => indexBounds(index, conjuncts));
    if (!each.every(isBound)) continue;
    const ranges = joined(each.flatMap((bounds) => bounds.ranges));
    return { kind: 'index', index, ranges, reverse: false, isSorted: false, isNarrow: true };
  }
  return undefined;
}

function isBound({ pointFields, hasRange }: Bounds): boolean {
  return pointFields > 0 || hasRange;
}

/** The same keys in ranges that are apart. */
function joined(ranges: readonly KeyRange[]): KeyRange[] {
  const apart: KeyRange[] = [];
  for (const range of ascending(ranges)) {
    const last = apart.at(-1);
    if (last === undefined || Buffer.compare(last.to, range.from) < 0) apart.push(range);
    else if (Buffer.compare(last.to, range.to) < 0) apart.splice(-1, 1, { from: last.from, to: range.to });
  }
  return apart;
}

/**
 * The keys of exactly those documents that match, where an index tells it by itself: the filter is nothing but single values of its first fields.
 *
 * @returns undefined when the documents have to be looked at
 */
export function coveringRanges(
  collection: Collection,
  { exact, conjuncts }: Filter,
): { readonly index: ReadableIndex; readonly ranges: readonly KeyRange[] } | undefined {
  if (!exact || conjuncts.length === 0 || !conjuncts.every(({ predicate }) => asksForKeys(predicate))) return undefined;
  const fields = new Set(conjuncts.map(({ path }) => path)).size;
  for (const index of collection.indexes) {
    if (index.multikey || index.sparse || index.partial) continue;
    const { ranges, pointFields, hasRange } = indexBounds(index, conjuncts);
    if (pointFields === fields && !hasRange) return { index, ranges };
  }
  return undefined;
}

/** True when a value passes exactly if its key is one of the operands' keys. Null is left out, whose key missing fields have too, and NaN. */
function asksForKeys(predicate: Predicate): boolean {
  if (predicate.op === 'eq') return hasOwnKey(predicate.operand);
  return predicate.op === 'in' && predicate.patterns.length === 0 && predicate.operands.every(hasOwnKey);
}

function hasOwnKey(operand: Value): boolean {
  return typeof operand === 'string' || typeof operand === 'boolean' || (isNumber(operand) && !Number.isNaN(toNumber(operand)));
}

function indexBounds(index: ReadableIndex, conjuncts: readonly Conjunct[]): Bounds {
  let prefixes: Buffer[] = [Buffer.alloc(0)];
  let pointFields = 0;
  for (const field of index.fields) {
    const intervals = fieldIntervals(conjuncts, field.name, index.multikey);
    if (intervals === undefined || (prefixes.length > 1 && intervals.length * prefixes.length > MAX_RANGES)) break;
    if (!intervals.every((interval) => interval.isPoint)) {
      const ranges = prefixes.flatMap((prefix) => intervals.map((interval) => keyRange(prefix, interval, field.descending)));
      return { ranges: ascending(ranges), pointFields, hasRange: true, isSinglePrefix: prefixes.length === 1 };
    }
    prefixes = prefixes.flatMap((prefix) => intervals.map((interval) => pointPrefix(prefix, interval, field.descending)));
    pointFields++;
    // A document with arrays has several keys, and two fields' values may stand in different ones: only the first field binds.
    if (index.multikey) break;
  }
  return { ranges: ascending(prefixes.map(prefixRange)), pointFields, hasRange: false, isSinglePrefix: prefixes.length === 1 };
}

function ascending(ranges: readonly KeyRange[]): KeyRange[] {
  return ranges.toSorted((a, b) => Buffer.compare(a.from, b.from));
}

/**
 * The intervals of one field, from all conditions on it. No intervals at all: nothing can match.
 *
 * With arrays, two conditions may be met by two elements: then only one condition is used.
 */
function fieldIntervals(conjuncts: readonly Conjunct[], name: string, multikey: boolean): Interval[] | undefined {
  const candidates = conjuncts.flatMap((conjunct) => {
    const intervals = conjunct.path === name ? predicateIntervals(conjunct.predicate) : undefined;
    return intervals ? [intervals] : [];
  });
  candidates.sort((a, b) => rank(a) - rank(b));
  const [first, ...others] = candidates;
  if (first === undefined || multikey) return first;
  return others.reduce((left, right) => left.flatMap((a) => right.flatMap((b) => intersect(a, b) ?? [])), first);
}

/** Few points before many, points before ranges. */
function rank(intervals: readonly Interval[]): number {
  return intervals.every((interval) => interval.isPoint) ? intervals.length : Number.MAX_SAFE_INTEGER;
}

/** True when some condition can only be met where an indexed field exists: such documents are all in a sparse index. */
function excludesMissing(index: ReadableIndex, conjuncts: readonly Conjunct[]): boolean {
  return index.fields.some((field) =>
    conjuncts.some((conjunct) => {
      if (conjunct.path !== field.name) return false;
      const intervals = predicateIntervals(conjunct.predicate);
      return intervals !== undefined && !intervals.some(holdsNull);
    }),
  );
}

/** True when everything that matches the filter also meets the other one's conditions. May say false where that is so. */
function implies(filter: Filter, wanted: Filter): boolean {
  return wanted.exact && wanted.conjuncts.every((condition) => filter.conjuncts.some((known) => impliesCondition(known, condition)));
}

function impliesCondition(known: Conjunct, wanted: Conjunct): boolean {
  if (known.path !== wanted.path) return false;
  const { predicate } = known;
  // The value that meets the known condition is one of these, or in this range; the same value then meets the wanted condition.
  if (predicate.op === 'eq') return isPlain(predicate.operand) && testPredicate(wanted.predicate, predicate.operand);
  if (predicate.op === 'in') {
    if (predicate.patterns.length > 0) return false;
    return predicate.operands.every((operand) => isPlain(operand) && testPredicate(wanted.predicate, operand));
  }
  const intervals = predicateIntervals(predicate);
  if (intervals === undefined || intervals.some(holdsNull)) return false;
  if (wanted.predicate.op === 'exists') return true;
  const allowed = predicateIntervals(wanted.predicate);
  const isInRange =
    wanted.predicate.op === 'gt' || wanted.predicate.op === 'gte' || wanted.predicate.op === 'lt' || wanted.predicate.op === 'lte';
  if (!isInRange || allowed === undefined || predicate.op === 'regex') return false;
  return intervals.every((interval) => allowed.some((outer) => isInside(interval, outer)));
}

/** A null also stands for a missing field, and an array for its elements: neither is "the same value" for two conditions. */
function isPlain(operand: unknown): boolean {
  return operand !== null && !Array.isArray(operand);
}

function isInside(inner: Interval, outer: Interval): boolean {
  const common = intersect(inner, outer);
  return common !== undefined && common.from === inner.from && common.to === inner.to;
}

/**
 * Whether the index's order is the wanted one, and in which direction.
 *
 * Fields fixed to one value may be missing from the sort, or stand anywhere in it.
 */
function sortDirection(index: ReadableIndex, sort: KeyPattern, bounds: Bounds): 'forward' | 'backward' | undefined {
  const whole = directionFrom(index, sort, 0, new Set());
  if (whole !== undefined || !bounds.isSinglePrefix) return whole;
  const fixed = new Set(index.fields.slice(0, bounds.pointFields).map((field) => field.name));
  return directionFrom(index, sort, bounds.pointFields, fixed);
}

function directionFrom(
  index: ReadableIndex,
  sort: KeyPattern,
  start: number,
  fixed: ReadonlySet<string>,
): 'forward' | 'backward' | undefined {
  const wanted = sort.filter((field) => !fixed.has(field.name));
  let direction: 'forward' | 'backward' | undefined;
  for (const [i, field] of wanted.entries()) {
    const indexed = index.fields[start + i];
    if (indexed?.name !== field.name) return undefined;
    const step = indexed.descending === field.descending ? 'forward' : 'backward';
    if (direction !== undefined && direction !== step) return undefined;
    direction = step;
  }
  return direction ?? 'forward';
}
