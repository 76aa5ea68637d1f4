import { toNumber, toSafeInteger } from '../bson/arithmetic.ts';
import { encodeDocument } from '../bson/decode.ts';
import { type Doc, isDoc, isNumber, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { compileFilter, type Filter, isTruthy } from '../query/filter.ts';
import { type KeyPattern, parseKeyPattern } from '../query/key-pattern.ts';

/** A secondary index as it was asked for. */
export interface IndexDefinition {
  readonly name: string;
  readonly pattern: Doc;
  readonly fields: KeyPattern;
  readonly unique: boolean;
  readonly sparse: boolean;
  readonly partial: { readonly spec: Doc; readonly filter: Filter } | undefined;
  /** undefined: documents do not expire. */
  readonly expireAfterSeconds: number | undefined;
}

/** MongoDB's bound: 2^31 - 1 seconds. */
const MAX_EXPIRE_SECONDS = 2 ** 31 - 1;
const MAX_NAME_BYTES = 1024;

/** Operators of a partialFilterExpression (https://www.mongodb.com/docs/manual/core/index-partial/) that the store supports. */
const PARTIAL_OPERATORS: ReadonlySet<string> = new Set(['eq', 'exists', 'gt', 'gte', 'lt', 'lte', 'type', 'in']);

/**
 * Reads one entry of `createIndexes`.
 *
 * @throws CommandError CannotCreateIndex, InvalidIndexSpecificationOption, FailedToParse, TypeMismatch or BadValue.
 */
export function parseIndexDefinition(spec: Doc): IndexDefinition {
  let name: string | undefined;
  let pattern: Doc | undefined;
  let unique = false;
  let sparse = false;
  let partialSpec: Doc | undefined;
  let expireAfterSeconds: number | undefined;
  for (const [option, value] of Object.entries(spec)) {
    switch (option) {
      case 'name':
        if (typeof value !== 'string') throw new CommandError('TypeMismatch', "The field 'name' must be a string");
        name = value;
        break;
      case 'key':
        if (!isDoc(value)) throw new CommandError('TypeMismatch', "The field 'key' must be an object");
        pattern = value;
        break;
      case 'unique':
        unique = readFlag(option, value);
        break;
      case 'sparse':
        sparse = readFlag(option, value);
        break;
      case 'background':
        break;
      case 'v':
        if (toSafeInteger(value) !== 1 && toSafeInteger(value) !== 2)
          throw new CommandError('CannotCreateIndex', 'the index version must be 1 or 2');
        break;
      case 'partialFilterExpression':
        if (!isDoc(value)) throw new CommandError('TypeMismatch', "The field 'partialFilterExpression' must be an object");
        partialSpec = value;
        break;
      case 'expireAfterSeconds':
        expireAfterSeconds = readExpiry(value);
        break;
      default:
        throw new CommandError('InvalidIndexSpecificationOption', `The field '${option}' is not supported for an index specification.`);
    }
  }
  if (pattern === undefined) throw new CommandError('FailedToParse', "The 'key' field is a required property of an index specification");
  if (name === undefined) throw new CommandError('FailedToParse', "The 'name' field is a required property of an index specification");
  if (name === '' || name === '*' || name.includes('\0') || Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new CommandError('CannotCreateIndex', 'the index name is not valid');
  }
  const fields = parseIndexFields(pattern);
  if (expireAfterSeconds !== undefined && (fields.length !== 1 || fields[0]?.name === '_id')) {
    throw new CommandError('CannotCreateIndex', 'TTL indexes are single-field indexes, and not of _id');
  }
  if (sparse && partialSpec) throw new CommandError('CannotCreateIndex', 'cannot mix "partialFilterExpression" and "sparse" options');
  const partial = partialSpec && { spec: partialSpec, filter: compilePartialFilter(partialSpec) };
  return { name, pattern, fields, unique, sparse, partial, expireAfterSeconds };
}

/** The definition as `listIndexes` answers it, and as it is stored. */
export function indexSpec(definition: IndexDefinition): Record<string, unknown> {
  return {
    v: 2,
    key: definition.pattern,
    name: definition.name,
    ...(definition.unique && { unique: true }),
    ...(definition.sparse && { sparse: true }),
    ...(definition.partial && { partialFilterExpression: definition.partial.spec }),
    ...(definition.expireAfterSeconds !== undefined && { expireAfterSeconds: definition.expireAfterSeconds }),
  };
}

/** True when both describe the same key: the order of fields and their directions count. */
export function sameKey(a: Doc, b: Doc): boolean {
  return encodeKey(a).equals(encodeKey(b));
}

/** True when both index the same documents in the same way, whatever their names. */
export function sameOptions(a: IndexDefinition, b: IndexDefinition): boolean {
  return (
    a.unique === b.unique &&
    a.sparse === b.sparse &&
    a.expireAfterSeconds === b.expireAfterSeconds &&
    encodeDocument(a.partial?.spec ?? {}).equals(encodeDocument(b.partial?.spec ?? {}))
  );
}

function encodeKey(pattern: Doc): Buffer {
  return Buffer.from(
    JSON.stringify(Object.entries(pattern).map(([name, direction]) => [name, isNumber(direction) ? toNumber(direction) : 0])),
  );
}

function parseIndexFields(pattern: Doc): KeyPattern {
  try {
    const fields = parseKeyPattern(pattern);
    if (fields.length === 0) throw new CommandError('CannotCreateIndex', 'Index keys cannot be an empty object.');
    return fields;
  } catch (error) {
    if (error instanceof CommandError && error.codeName === 'BadValue') throw new CommandError('CannotCreateIndex', error.message);
    throw error;
  }
}

function compilePartialFilter(spec: Doc): Filter {
  const filter = compileFilter(spec);
  if (!filter.exact || filter.conjuncts.some((conjunct) => !PARTIAL_OPERATORS.has(conjunct.predicate.op))) {
    throw new CommandError('CannotCreateIndex', 'unsupported expression in partial index');
  }
  return filter;
}

function readFlag(option: string, value: Value): boolean {
  if (typeof value !== 'boolean' && !isNumber(value)) throw new CommandError('TypeMismatch', `The field '${option}' must be a boolean`);
  return isTruthy(value);
}

function readExpiry(value: Value): number {
  if (!isNumber(value)) throw new CommandError('TypeMismatch', "The field 'expireAfterSeconds' must be a number");
  const seconds = Math.trunc(toNumber(value));
  if (!(seconds >= 0 && seconds <= MAX_EXPIRE_SECONDS)) {
    throw new CommandError('CannotCreateIndex', `expireAfterSeconds must be within 0 to ${MAX_EXPIRE_SECONDS}`);
  }
  return seconds;
}
