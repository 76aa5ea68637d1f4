import { Binary, BSONError, BSONRegExp, Double, deserialize, Int32, Long, ObjectId, serialize } from 'bson';
import { CommandError } from '../command/command-error.ts';
import { type Doc, isDoc, type Value } from './value.ts';

/** MongoDB's limit of one document. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** MongoDB's limit of nesting inside a document; a command may wrap documents in some levels of its own. */
const MAX_DEPTH = 100;
const MAX_COMMAND_DEPTH = MAX_DEPTH + 20;

/** Names that would be taken for something else by JavaScript or by the BSON library. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['__proto__', '_bsontype']);

/**
 * Reads one document, keeping the BSON type of every number.
 *
 * @throws CommandError BadValue for a type that the store does not hold, FailedToParse for bytes that are no BSON, Overflow when nested too deeply.
 */
export function decodeDocument(bytes: Uint8Array): Doc {
  let decoded: unknown;
  try {
    decoded = deserialize(bytes, { promoteValues: false, bsonRegExp: true });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError('Overflow', 'the document is nested too deeply');
    if (error instanceof BSONError) throw new CommandError('FailedToParse', `not a BSON document: ${error.message}`);
    throw error;
  }
  checkValue(decoded, 0);
  if (!isDoc(decoded)) throw new CommandError('BadValue', 'a reference ($ref, $id) is not supported here');
  return decoded;
}

/** Reads a document that this store wrote and checked before. */
export function decodeStored(bytes: Uint8Array): Doc {
  // Texts were checked then: to look at each letter again takes as long as all the rest.
  const decoded: unknown = deserialize(bytes, { promoteValues: false, validation: { utf8: false } });
  if (!isStoredDoc(decoded)) throw new Error('a stored document is unreadable');
  return decoded;
}

export function encodeDocument(doc: Doc): Buffer {
  const bytes = serialize(doc);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Checks what a stored document may be.
 *
 * @throws CommandError DollarPrefixedFieldName, DottedFieldName, BadValue (a reserved name, a regular expression), Overflow (nested too deeply).
 */
export function checkStorable(value: Value, depth = 1): void {
  if (value instanceof BSONRegExp) throw new CommandError('BadValue', 'regular expressions cannot be stored here');
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new CommandError('BadValue', 'a date is out of range');
  if (!Array.isArray(value) && !isDoc(value)) return;
  if (depth > MAX_DEPTH) throw new CommandError('Overflow', `the document is nested in more than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (const element of value) checkStorable(element, depth + 1);
    return;
  }
  for (const name of Object.keys(value)) {
    checkStorableName(name);
    checkStorable(value[name] ?? null, depth + 1);
  }
}

/** @throws CommandError as {@link checkStorable} does for a name. */
export function checkStorableName(name: string): void {
  if (name.startsWith('$'))
    throw new CommandError('DollarPrefixedFieldName', `The dollar ($) prefixed field '${name}' is not valid for storage.`);
  if (name.includes('.')) throw new CommandError('DottedFieldName', `The dotted field '${name}' is not valid for storage.`);
  if (RESERVED_NAMES.has(name)) throw new CommandError('BadValue', `The field name '${name}' is not supported.`);
}

function isStoredDoc(value: unknown): value is Doc {
  return isDoc(value);
}

function checkValue(value: unknown, depth: number): asserts value is Value {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (value instanceof Int32 || value instanceof Double || value instanceof Long || value instanceof ObjectId) return;
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new CommandError('BadValue', 'a date is out of range');
    return;
  }
  if (value instanceof Binary || value instanceof BSONRegExp) return;
  if (depth > MAX_COMMAND_DEPTH) throw new CommandError('Overflow', `the document is nested in more than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (const element of value) checkValue(element, depth + 1);
    return;
  }
  if (isPlainObject(value)) {
    for (const name of Object.keys(value)) {
      if (RESERVED_NAMES.has(name)) throw new CommandError('BadValue', `The field name '${name}' is not supported.`);
      checkValue(value[name], depth + 1);
    }
    return;
  }
  throw new CommandError('BadValue', `values of the BSON type ${bsonTypeOf(value)} are not supported`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function bsonTypeOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && '_bsontype' in value) return String(value._bsontype);
  return typeof value;
}
