import { Binary, BSONRegExp, Double, Int32, Long, ObjectId } from 'bson';

/** A number as it travels: each BSON type keeps its own class, so that a value is written back with the type it came with. */
export type NumberValue = Int32 | Long | Double;

/** Every kind of value that the store holds or compares. A BSONRegExp occurs in filters only. */
export type Value = null | boolean | string | NumberValue | Date | ObjectId | Binary | BSONRegExp | Value[] | Doc;

/** A document: an own-property object in field order. */
export interface Doc {
  [field: string]: Value;
}

/** True for documents, false for arrays, dates and the BSON classes (their prototypes differ). */
export function isDoc(value: unknown): value is Doc {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export function isNumber(value: unknown): value is NumberValue {
  return value instanceof Int32 || value instanceof Double || value instanceof Long;
}

/** The field's value, or undefined when the document has no such own field. */
export function getField(doc: Doc, name: string): Value | undefined {
  return Object.hasOwn(doc, name) ? doc[name] : undefined;
}

/**
 * The value as a JavaScript number where that is exact, else as a bigint (a Long beyond 2^53).
 *
 * JavaScript compares numbers with bigints by their mathematical value, so the two may be mixed in `<` and `>`.
 */
export function numeric(value: NumberValue): number | bigint {
  if (!(value instanceof Long)) return value.value;
  const asNumber = value.toNumber();
  return Number.isSafeInteger(asNumber) ? asNumber : value.toBigInt();
}

/** Canonical order of types (https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/). */
export const TYPE_RANK = {
  null: 1,
  number: 2,
  string: 3,
  object: 4,
  array: 5,
  binary: 6,
  objectId: 7,
  boolean: 8,
  date: 9,
  regex: 10,
} as const;

export type TypeRank = (typeof TYPE_RANK)[keyof typeof TYPE_RANK];

export function typeRank(value: Value): TypeRank {
  if (value === null) return TYPE_RANK.null;
  if (typeof value === 'string') return TYPE_RANK.string;
  if (typeof value === 'boolean') return TYPE_RANK.boolean;
  if (Array.isArray(value)) return TYPE_RANK.array;
  if (isNumber(value)) return TYPE_RANK.number;
  if (value instanceof Date) return TYPE_RANK.date;
  if (value instanceof ObjectId) return TYPE_RANK.objectId;
  if (value instanceof Binary) return TYPE_RANK.binary;
  if (value instanceof BSONRegExp) return TYPE_RANK.regex;
  return TYPE_RANK.object;
}

/** The type's name as `$type` knows it. */
export function typeName(value: Value | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Int32) return 'int';
  if (value instanceof Long) return 'long';
  if (value instanceof Double) return 'double';
  if (value instanceof Date) return 'date';
  if (value instanceof ObjectId) return 'objectId';
  if (value instanceof Binary) return 'binData';
  if (value instanceof BSONRegExp) return 'regex';
  return 'object';
}

/** A copy that shares no array or document with the original; scalars are never changed in place and are shared. */
export function cloneValue(value: Value): Value {
  if (Array.isArray(value)) return value.map(cloneValue);
  return isDoc(value) ? cloneDoc(value) : value;
}

export function cloneDoc(doc: Doc): Doc {
  const copy: Doc = {};
  for (const name of Object.keys(doc)) copy[name] = cloneValue(doc[name] ?? null);
  return copy;
}
