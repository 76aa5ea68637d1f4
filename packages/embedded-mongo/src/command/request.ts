import { toNumber, toSafeInteger } from '../bson/arithmetic.ts';
import { type Doc, getField, isDoc, isNumber, typeName, type Value } from '../bson/value.ts';
import { isTruthy } from '../query/filter.ts';
import { checkCollectionName, checkDatabaseName } from '../storage/names.ts';
import { CommandError } from './command-error.ts';
import { TimeLimit } from './time-limit.ts';

/** Fields that every command takes. Those that ask for what a standalone server does not have are refused below. */
const GENERIC_FIELDS: ReadonlySet<string> = new Set([
  '$db',
  '$clusterTime',
  '$readPreference',
  'lsid',
  'comment',
  'maxTimeMS',
  'readConcern',
  'writeConcern',
]);

const TRANSACTION_FIELDS = ['txnNumber', 'startTransaction', 'autocommit', 'stmtId', 'stmtIds'];
const READ_CONCERNS: ReadonlySet<string> = new Set(['local', 'available', 'majority']);

/** Fields of MongoDB's commands that are refused with a reason, unless they are absent or false. */
const REFUSED_FIELDS: ReadonlyMap<string, string> = new Map([
  ['collation', 'collation is not supported'],
  ['hint', 'hints are not supported'],
  ['let', 'variables are not supported'],
  ['arrayFilters', 'arrayFilters are not supported'],
  ['explain', 'explain is not supported'],
]);

/** One document of a command: the command itself, or one statement in it. Reads fields by type and refuses those it does not know. */
export class Fields {
  readonly #name: string;
  readonly #doc: Doc;

  /** @throws CommandError Location40415 for a field that is not allowed here. */
  constructor(name: string, doc: Doc, allowed: readonly string[]) {
    this.#name = name;
    this.#doc = doc;
    for (const [field, value] of Object.entries(doc)) {
      if (allowed.includes(field)) continue;
      const reason = REFUSED_FIELDS.get(field);
      if (reason !== undefined && value === false) continue;
      if (reason !== undefined) throw new CommandError('BadValue', `${name}: ${reason}`);
      throw new CommandError('Location40415', `BSON field '${name}.${field}' is an unknown field.`);
    }
  }

  has(field: string): boolean {
    return this.value(field) !== undefined;
  }

  /** The raw value; undefined when absent. */
  value(field: string): Value | undefined {
    return getField(this.#doc, field);
  }

  string(field: string): string {
    const value = this.value(field);
    if (typeof value !== 'string') throw this.#wrongType(field, 'string', value);
    return value;
  }

  /** @returns undefined when absent. */
  doc(field: string): Doc | undefined {
    const value = this.value(field);
    if (value === undefined) return undefined;
    if (!isDoc(value)) throw this.#wrongType(field, 'object', value);
    return value;
  }

  array(field: string): Value[] {
    const value = this.value(field);
    if (!Array.isArray(value)) throw this.#wrongType(field, 'array', value);
    return value;
  }

  /** Documents of an array. */
  docs(field: string): Doc[] {
    return this.array(field).map((element) => {
      if (!isDoc(element)) throw this.#wrongType(field, 'object', element);
      return element;
    });
  }

  /** false when absent; numbers count as in MongoDB. */
  flag(field: string, absent = false): boolean {
    const value = this.value(field);
    if (value === undefined) return absent;
    if (typeof value !== 'boolean' && !isNumber(value)) throw this.#wrongType(field, 'bool', value);
    return isTruthy(value);
  }

  /** A whole number of at least 0; undefined when absent. */
  count(field: string): number | undefined {
    const value = this.value(field);
    if (value === undefined || value === null) return undefined;
    if (!isNumber(value)) throw this.#wrongType(field, 'long', value);
    const count = toSafeInteger(value) ?? Math.trunc(toNumber(value));
    if (!Number.isSafeInteger(count)) throw new CommandError('BadValue', `BSON field '${this.#name}.${field}' must be a whole number`);
    if (count < 0)
      throw new CommandError('Location51024', `BSON field '${this.#name}.${field}' value must be >= 0, actual value '${count}'`);
    return count;
  }

  /** @throws CommandError BadValue when the flag is set: the feature is not supported. */
  refuseFlag(field: string): void {
    if (this.flag(field)) throw new CommandError('BadValue', `${this.#name}: ${field} is not supported`);
  }

  #wrongType(field: string, wanted: string, value: Value | undefined): CommandError {
    if (value === undefined) {
      return new CommandError('Location40414', `BSON field '${this.#name}.${field}' is missing but a required field`);
    }
    return new CommandError(
      'TypeMismatch',
      `BSON field '${this.#name}.${field}' is the wrong type '${typeName(value)}', expected type '${wanted}'`,
    );
  }
}

/** A command as a handler sees it. */
export interface Request {
  readonly name: string;
  readonly database: string;
  readonly body: Doc;
  readonly timeLimit: TimeLimit;
}

/**
 * Reads what all commands share.
 *
 * @throws CommandError IllegalOperation for transactions, BadValue or FailedToParse for concerns that a standalone server cannot meet.
 */
export function parseRequest(body: Doc): Request {
  const [name] = Object.keys(body);
  if (name === undefined) throw new CommandError('FailedToParse', 'the command is empty');
  const database = getField(body, '$db');
  if (typeof database !== 'string') throw new CommandError('Location40414', 'OP_MSG requests require a $db argument');
  if (TRANSACTION_FIELDS.some((field) => Object.hasOwn(body, field))) {
    throw new CommandError('IllegalOperation', 'Transaction numbers are only allowed on a replica set member or mongos');
  }
  checkReadConcern(getField(body, 'readConcern'));
  checkWriteConcern(getField(body, 'writeConcern'));
  const maxTimeMs = getField(body, 'maxTimeMS');
  const budgetMs = maxTimeMs === undefined ? 0 : toSafeInteger(maxTimeMs);
  if (budgetMs === undefined || budgetMs < 0) throw new CommandError('BadValue', 'maxTimeMS must be a whole number of at least 0');
  return { name, database, body, timeLimit: new TimeLimit(budgetMs) };
}

/** The command's own fields, without those that all commands share. */
export function commandFields(request: Request, allowed: readonly string[]): Fields {
  const own: Doc = {};
  for (const [field, value] of Object.entries(request.body)) if (!GENERIC_FIELDS.has(field)) own[field] = value;
  return new Fields(request.name, own, [request.name, ...allowed]);
}

/** The name of the collection that the command's first field holds. */
export function collectionName(request: Request): string {
  const name = getField(request.body, request.name);
  if (typeof name !== 'string') throw new CommandError('InvalidNamespace', `collection name has invalid type ${typeName(name)}`);
  checkDatabaseName(request.database);
  checkCollectionName(request.database, name);
  return name;
}

function checkReadConcern(concern: Value | undefined): void {
  if (concern === undefined) return;
  const level = isDoc(concern) ? (getField(concern, 'level') ?? 'local') : undefined;
  if (typeof level !== 'string' || !READ_CONCERNS.has(level)) throw new CommandError('BadValue', 'this read concern is not supported');
}

function checkWriteConcern(concern: Value | undefined): void {
  if (concern === undefined) return;
  const w = isDoc(concern) ? getField(concern, 'w') : null;
  if (w === undefined || w === 'majority') return;
  const members = toSafeInteger(w);
  if (members !== 0 && members !== 1) throw new CommandError('BadValue', "cannot use 'w' > 1 when a host is not replicated");
}

/** A filter or another operand that has to be a document. @throws CommandError TypeMismatch */
export function requireDoc(name: string, value: Value | undefined): Doc {
  if (isDoc(value)) return value;
  throw new CommandError('TypeMismatch', `Expected field ${name} to be of type object, not ${typeName(value)}`);
}
