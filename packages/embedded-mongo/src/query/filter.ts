import { BSONRegExp } from 'bson';
import { toNumber, toSafeInteger } from '../bson/arithmetic.ts';
import { type Doc, isDoc, isNumber, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { type Path, parsePath, someLeaf, someValue } from './path.ts';
import { compilePattern, type Predicate, testPredicate, wholePart } from './predicate.ts';

/** A positive condition that every matching document meets: some value at `path` passes the predicate. */
export interface Conjunct {
  readonly path: string;
  readonly predicate: Predicate;
}

export interface Filter {
  readonly matches: (doc: Doc) => boolean;
  /** Conditions that follow from the filter; the planner's input. There may be more conditions than these. */
  readonly conjuncts: readonly Conjunct[];
  /** True when the filter is nothing but its conjuncts. */
  readonly exact: boolean;
  /** Filters of which every match meets one, from an `$or`; empty where there is none. The planner asks them where the conjuncts narrow nothing down. */
  readonly alternatives: readonly Filter[];
}

type Condition = Filter;

const EVERYTHING: Filter = { matches: () => true, conjuncts: [], exact: true, alternatives: [] };

/** Nesting of $and, $or, $nor, $not and $elemMatch. */
const MAX_FILTER_DEPTH = 100;

/**
 * Compiles a filter document.
 *
 * @throws CommandError BadValue or FailedToParse for anything that is not supported.
 */
export function compileFilter(filter: Doc, depth = 0): Filter {
  if (depth > MAX_FILTER_DEPTH) throw new CommandError('Overflow', 'the filter is nested too deeply');
  const conditions: Condition[] = [];
  for (const [name, operand] of Object.entries(filter)) {
    if (name.startsWith('$')) conditions.push(compileLogical(name, operand, depth));
    else conditions.push(compileField(name, operand, depth));
  }
  return all(conditions);
}

function all(conditions: readonly Condition[]): Condition {
  const [first] = conditions;
  if (first === undefined) return EVERYTHING;
  if (conditions.length === 1) return first;
  return {
    matches: (doc) => conditions.every((condition) => condition.matches(doc)),
    conjuncts: conditions.flatMap((condition) => condition.conjuncts),
    exact: conditions.every((condition) => condition.exact),
    alternatives: conditions.find(({ alternatives }) => alternatives.length > 0)?.alternatives ?? [],
  };
}

function opaque(matches: (doc: Doc) => boolean, alternatives: readonly Filter[] = []): Condition {
  return { matches, conjuncts: [], exact: false, alternatives };
}

function compileLogical(name: string, operand: Value, depth: number): Condition {
  if (name === '$comment') return EVERYTHING;
  if (name !== '$and' && name !== '$or' && name !== '$nor') {
    throw new CommandError('BadValue', `unknown top level operator: ${name}`);
  }
  if (!Array.isArray(operand)) throw new CommandError('BadValue', `${name} must be an array`);
  if (operand.length === 0) throw new CommandError('BadValue', `${name} must be a nonempty array`);
  const clauses = operand.map((clause) => {
    if (!isDoc(clause)) throw new CommandError('BadValue', `${name} entries need to be full objects`);
    return compileFilter(clause, depth + 1);
  });
  if (name === '$and') return all(clauses);
  const meetsOne = (doc: Doc) => clauses.some((clause) => clause.matches(doc));
  if (name === '$nor') return opaque((doc) => !meetsOne(doc));
  const [only] = clauses;
  return clauses.length === 1 && only ? only : opaque(meetsOne, clauses);
}

function compileField(name: string, operand: Value, depth: number): Condition {
  const path = parsePath(name);
  if (operand instanceof BSONRegExp) return leafCondition(path, regexPredicate(operand.pattern, operand.options));
  if (!isDoc(operand) || !isOperatorDoc(operand)) return leafCondition(path, { op: 'eq', operand });
  return all(compileOperators(path, operand, depth));
}

/** True for `{$gt: 1}`; a document whose first field is no operator is compared as a whole. */
function isOperatorDoc(doc: Doc): boolean {
  return Object.keys(doc)[0]?.startsWith('$') ?? false;
}

function leafCondition(path: Path, predicate: Predicate): Condition {
  return {
    matches: (doc) => someValue(doc, path, (value) => testPredicate(predicate, value)),
    conjuncts: [{ path: path.join('.'), predicate }],
    exact: true,
    alternatives: [],
  };
}

function negate(condition: Condition): Condition {
  return opaque((doc) => !condition.matches(doc));
}

function compileOperators(path: Path, operators: Doc, depth: number): Condition[] {
  const conditions: Condition[] = [];
  for (const [op, operand] of Object.entries(operators)) {
    if (op === '$options') {
      if (!Object.hasOwn(operators, '$regex')) throw new CommandError('BadValue', '$options needs a $regex');
      continue;
    }
    conditions.push(compileOperator(path, op, operand, operators, depth));
  }
  return conditions;
}

function compileOperator(path: Path, op: string, operand: Value, siblings: Doc, depth: number): Condition {
  switch (op) {
    case '$eq':
      return leafCondition(path, { op: 'eq', operand: notRegex(op, operand) });
    case '$ne':
      return negate(leafCondition(path, { op: 'eq', operand: notRegex(op, operand) }));
    case '$gt':
      return leafCondition(path, { op: 'gt', operand: notRegex(op, operand) });
    case '$gte':
      return leafCondition(path, { op: 'gte', operand: notRegex(op, operand) });
    case '$lt':
      return leafCondition(path, { op: 'lt', operand: notRegex(op, operand) });
    case '$lte':
      return leafCondition(path, { op: 'lte', operand: notRegex(op, operand) });
    case '$in':
      return leafCondition(path, inPredicate(op, operand));
    case '$nin':
      return negate(leafCondition(path, inPredicate(op, operand)));
    case '$exists': {
      const exists = leafCondition(path, { op: 'exists' });
      return isTruthy(operand) ? exists : negate(exists);
    }
    case '$type':
      return leafCondition(path, typePredicate(operand));
    case '$mod':
      return leafCondition(path, modPredicate(operand));
    case '$regex':
      return leafCondition(path, regexOperator(operand, siblings));
    case '$not':
      return compileNot(path, operand, depth);
    case '$size':
      return compileSize(path, operand);
    case '$all':
      return compileAll(path, operand, depth);
    case '$elemMatch':
      return compileElemMatch(path, operand, depth);
    default:
      throw new CommandError('BadValue', `unknown operator: ${op}`);
  }
}

function notRegex(op: string, operand: Value): Value {
  if (operand instanceof BSONRegExp) throw new CommandError('BadValue', `${op} with a regular expression is not supported`);
  return operand;
}

export function isTruthy(value: Value): boolean {
  if (isNumber(value)) return toNumber(value) !== 0;
  return value !== null && value !== false;
}

function regexPredicate(pattern: string, options: string): Predicate {
  const compiled = compilePattern({ pattern, options });
  if (compiled === undefined) throw new CommandError('Location51091', `the regular expression /${pattern}/${options} is not supported`);
  return { op: 'regex', pattern: compiled };
}

function regexOperator(operand: Value, siblings: Doc): Predicate {
  const options = Object.hasOwn(siblings, '$options') ? siblings['$options'] : undefined;
  if (options !== undefined && typeof options !== 'string') throw new CommandError('BadValue', '$options has to be a string');
  if (typeof operand === 'string') return regexPredicate(operand, options ?? '');
  if (!(operand instanceof BSONRegExp)) throw new CommandError('BadValue', '$regex has to be a string');
  if (options !== undefined && operand.options !== '') throw new CommandError('BadValue', 'options set in both $regex and $options');
  return regexPredicate(operand.pattern, options ?? operand.options);
}

function inPredicate(op: string, operand: Value): Predicate {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', `${op} needs an array`);
  const operands: Value[] = [];
  const patterns: RegExp[] = [];
  for (const element of operand) {
    if (element instanceof BSONRegExp) {
      const compiled = regexPredicate(element.pattern, element.options);
      if (compiled.op === 'regex') patterns.push(compiled.pattern);
    } else if (isDoc(element) && isOperatorDoc(element)) {
      throw new CommandError('BadValue', `cannot nest $ under ${op}`);
    } else operands.push(element);
  }
  return { op: 'in', operands, patterns };
}

/** Numbers of the types (https://bsonspec.org) that the store holds. */
const TYPE_NUMBERS: ReadonlyMap<number, string> = new Map([
  [1, 'double'],
  [2, 'string'],
  [3, 'object'],
  [4, 'array'],
  [5, 'binData'],
  [7, 'objectId'],
  [8, 'bool'],
  [9, 'date'],
  [10, 'null'],
  [16, 'int'],
  [18, 'long'],
]);
const TYPE_NAMES: ReadonlySet<string> = new Set([...TYPE_NUMBERS.values(), 'number']);

function typePredicate(operand: Value): Predicate {
  const types = Array.isArray(operand) ? operand : [operand];
  if (types.length === 0) throw new CommandError('FailedToParse', '$type must match at least one type');
  const names = types.map((type) => {
    const name = typeof type === 'string' ? type : TYPE_NUMBERS.get(toSafeInteger(type) ?? -1);
    if (name === undefined || !TYPE_NAMES.has(name)) throw new CommandError('BadValue', 'unknown or unsupported type in $type');
    return name;
  });
  return { op: 'type', names: new Set(names) };
}

function modPredicate(operand: Value): Predicate {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', 'malformed mod, needs to be an array');
  const [divisor, remainder] = operand;
  if (operand.length !== 2 || divisor === undefined || remainder === undefined) {
    throw new CommandError('BadValue', 'malformed mod, needs exactly two elements');
  }
  for (const part of [divisor, remainder]) {
    if (!isNumber(part) || !Number.isFinite(toNumber(part))) throw new CommandError('BadValue', 'malformed mod, needs two numbers');
  }
  if (wholePart(divisor) === 0n) throw new CommandError('BadValue', 'divisor cannot be 0');
  return { op: 'mod', divisor: wholePart(divisor), remainder: wholePart(remainder) };
}

function compileNot(path: Path, operand: Value, depth: number): Condition {
  if (operand instanceof BSONRegExp) return negate(leafCondition(path, regexPredicate(operand.pattern, operand.options)));
  if (!isDoc(operand)) throw new CommandError('BadValue', '$not needs a regex or a document');
  if (!isOperatorDoc(operand)) throw new CommandError('BadValue', '$not needs a document of operators');
  if (depth > MAX_FILTER_DEPTH) throw new CommandError('Overflow', 'the filter is nested too deeply');
  return negate(all(compileOperators(path, operand, depth + 1)));
}

function compileSize(path: Path, operand: Value): Condition {
  const size = isNumber(operand) ? toSafeInteger(operand) : undefined;
  if (size === undefined) throw new CommandError('BadValue', '$size must be a whole number');
  if (size < 0) throw new CommandError('BadValue', '$size may not be negative');
  return opaque((doc) => someLeaf(doc, path, (value) => Array.isArray(value) && value.length === size));
}

function compileAll(path: Path, operand: Value, depth: number): Condition {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', '$all needs an array');
  if (operand.length === 0) return opaque(() => false);
  const conditions = operand.map((element) => {
    if (element instanceof BSONRegExp) return leafCondition(path, regexPredicate(element.pattern, element.options));
    if (!isDoc(element) || !isOperatorDoc(element)) return leafCondition(path, { op: 'eq', operand: element });
    const elemMatch = Object.hasOwn(element, '$elemMatch') ? element['$elemMatch'] : undefined;
    if (elemMatch === undefined || Object.keys(element).length !== 1) throw new CommandError('BadValue', 'no $ expressions in $all');
    return compileElemMatch(path, elemMatch, depth);
  });
  return all(conditions);
}

function compileElemMatch(path: Path, operand: Value, depth: number): Condition {
  if (!isDoc(operand)) throw new CommandError('BadValue', '$elemMatch needs an Object');
  const test = compileElementTest(operand, depth + 1);
  return opaque((doc) => someLeaf(doc, path, (value) => Array.isArray(value) && value.some(test)));
}

const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);

/**
 * What one array element must be: operators apply to the element itself, anything else is a filter of the element's fields.
 *
 * `$pull` reads its condition the same way.
 */
export function compileElementTest(condition: Doc, depth: number): (element: Value) => boolean {
  const first = Object.keys(condition)[0];
  if (first?.startsWith('$') && !LOGICAL.has(first)) {
    // The element is put into a document of its own. One that is an array is named by its index there, and so is not traversed.
    const asField = all(compileOperators(['e'], condition, depth));
    const asElement = all(compileOperators(['e', '0'], condition, depth));
    return (element) => (Array.isArray(element) ? asElement.matches({ e: [element] }) : asField.matches({ e: element }));
  }
  const filter = compileFilter(condition, depth);
  return (element) => {
    if (isDoc(element)) return filter.matches(element);
    return Array.isArray(element) && filter.matches(Object.fromEntries(element.entries()));
  };
}
