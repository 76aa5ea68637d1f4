import { encodeValue, KEY_TAG, keyTag } from '../bson/key-encoding.ts';
import type { Value } from '../bson/value.ts';
import type { Predicate } from '../query/predicate.ts';
import type { KeyRange } from '../storage/key-table.ts';

/** A place between keys: right before, or right after, everything that begins with these bytes. */
interface Cut {
  readonly bytes: Buffer;
  readonly isAfter: boolean;
}

/** The values of one indexed field that can pass a predicate, as encoded bytes. */
export interface Interval {
  readonly from: Cut;
  readonly to: Cut;
  /** True when it holds one value only. */
  readonly isPoint: boolean;
}

/**
 * Intervals that hold at least every key of every value that passes the predicate, ascending and apart.
 *
 * @returns undefined when the predicate does not narrow anything down.
 */
export function predicateIntervals(predicate: Predicate): Interval[] | undefined {
  switch (predicate.op) {
    case 'eq':
      return isIndexable(predicate.operand) ? [point(predicate.operand)] : undefined;
    case 'in': {
      if (predicate.patterns.length > 0 || !predicate.operands.every(isIndexable)) return undefined;
      const points = predicate.operands.map(point).sort((a, b) => Buffer.compare(a.from.bytes, b.from.bytes));
      return points.filter((each, i) => i === 0 || !each.from.bytes.equals(points[i - 1]?.from.bytes ?? each.from.bytes));
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return rangeIntervals(predicate.op, predicate.operand);
    case 'regex':
      return prefixInterval(predicate.pattern);
    default:
      return undefined;
  }
}

/** Arrays are keyed by their elements, so an array as operand has no key of its own. */
function isIndexable(value: Value): boolean {
  return !Array.isArray(value);
}

function point(value: Value): Interval {
  const bytes = encodeValue(value);
  return { from: { bytes, isAfter: false }, to: { bytes, isAfter: true }, isPoint: true };
}

function rangeIntervals(op: 'gt' | 'gte' | 'lt' | 'lte', operand: Value): Interval[] | undefined {
  if (!isIndexable(operand)) return undefined;
  // A range of null holds null and missing fields, or nothing: both are found at null's place.
  if (operand === null) return [point(null)];
  const bytes = encodeValue(operand);
  const type = Buffer.from([keyTag(operand)]);
  if (op === 'gt' || op === 'gte') return [{ from: { bytes, isAfter: op === 'gt' }, to: { bytes: type, isAfter: true }, isPoint: false }];
  return [{ from: { bytes: type, isAfter: false }, to: { bytes, isAfter: op === 'lte' }, isPoint: false }];
}

/** Characters that stand for themselves in every pattern. */
const LITERAL_PREFIX = /^\^([A-Za-z0-9_ \-/:@#%&=~,;<>!"']|\\[/.])+/;

/** Strings that begin with the literal text of the pattern, for patterns that begin with `^` and literal text. */
function prefixInterval(pattern: RegExp): Interval[] | undefined {
  // Without flags but the `u` that every pattern has; an alternative could begin with anything.
  if (pattern.flags !== 'u' || pattern.source.includes('|')) return undefined;
  const found = LITERAL_PREFIX.exec(pattern.source)?.[0];
  if (found === undefined) return undefined;
  const isQuantified = /[*?{+]/.test(pattern.source.charAt(found.length));
  const literal = found
    .slice(1)
    .replace(isQuantified ? /\\?.$/ : /^$/, '')
    .replaceAll('\\', '');
  const bytes = Buffer.concat([Buffer.from([KEY_TAG.string]), Buffer.from(literal)]);
  return [{ from: { bytes, isAfter: false }, to: { bytes, isAfter: true }, isPoint: false }];
}

/** What both intervals hold, or undefined when that is nothing. */
export function intersect(a: Interval, b: Interval): Interval | undefined {
  const from = compareCuts(a.from, b.from) >= 0 ? a.from : b.from;
  const to = compareCuts(a.to, b.to) <= 0 ? a.to : b.to;
  if (compareCuts(from, to) >= 0) return undefined;
  return { from, to, isPoint: a.isPoint || b.isPoint };
}

/** True when null's place lies in the interval: then documents without the field may pass. */
export function holdsNull(interval: Interval): boolean {
  return intersect(interval, point(null)) !== undefined;
}

/** The interval's keys behind a fixed beginning; a descending field has its bits inverted, so that its ends change places. */
export function keyRange(prefix: Buffer, interval: Interval, descending: boolean): KeyRange {
  const { from, to } = interval;
  if (!descending) return { from: place(prefix, from.bytes, from.isAfter), to: place(prefix, to.bytes, to.isAfter) };
  return { from: place(prefix, inverted(to.bytes), !to.isAfter), to: place(prefix, inverted(from.bytes), !from.isAfter) };
}

/** The bytes of a point behind a fixed beginning. */
export function pointPrefix(prefix: Buffer, interval: Interval, descending: boolean): Buffer {
  return Buffer.concat([prefix, descending ? inverted(interval.from.bytes) : interval.from.bytes]);
}

/** All keys that begin so. */
export function prefixRange(prefix: Buffer): KeyRange {
  return { from: prefix, to: successor(prefix) };
}

function place(prefix: Buffer, bytes: Buffer, isAfter: boolean): Buffer {
  const joined = Buffer.concat([prefix, bytes]);
  return isAfter ? successor(joined) : joined;
}

function inverted(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => ~byte & 0xff));
}

/** The first bytes that follow everything beginning with the prefix. An empty prefix has none: FF stands above every tag. */
function successor(prefix: Buffer): Buffer {
  for (let last = prefix.length - 1; last >= 0; last--) {
    const byte = prefix[last] ?? 0xff;
    if (byte === 0xff) continue;
    const result = Buffer.from(prefix.subarray(0, last + 1));
    result[last] = byte + 1;
    return result;
  }
  return Buffer.from([0xff]);
}

function compareCuts(a: Cut, b: Cut): number {
  return Buffer.compare(place(Buffer.alloc(0), a.bytes, a.isAfter), place(Buffer.alloc(0), b.bytes, b.isAfter));
}
