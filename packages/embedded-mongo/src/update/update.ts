import { compareValues } from '../bson/compare.ts';
import { checkStorable, checkStorableName } from '../bson/decode.ts';
import { cloneDoc, type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { arrayIndex, type Path, parsePath } from '../query/path.ts';
import { isBlocked, leadsThroughArray, setAt, unsetAt, valueAt } from './document-path.ts';
import { KEEP, type Modifier } from './modifier.ts';
import { MODIFIERS, modifierFields } from './modifiers.ts';
import { compilePipelineUpdate } from './pipeline-update.ts';
import type { UpdateContext } from './update-context.ts';

export interface Update {
  readonly kind: 'replacement' | 'operators' | 'pipeline';
  /** The changed document, with the same `_id`; the given one is not touched. */
  readonly apply: (doc: Doc, context: UpdateContext) => Doc;
}

/** A change of one field, or of two for `$rename`. */
interface Change {
  readonly path: Path;
  readonly apply: (doc: Doc, context: UpdateContext) => void;
}

/**
 * Compiles the `u` of an update.
 *
 * @throws CommandError FailedToParse, BadValue, ConflictingUpdateOperators and the operators' own.
 */
export function compileUpdate(spec: Value | undefined): Update {
  if (Array.isArray(spec)) return { kind: 'pipeline', apply: keepingId(compilePipelineUpdate(spec)) };
  if (!isDoc(spec)) throw new CommandError('FailedToParse', 'an update must be a document or a pipeline');
  const names = Object.keys(spec);
  if (names.length === 0 || !names[0]?.startsWith('$')) return compileReplacement(spec);
  return { kind: 'operators', apply: keepingId(compileOperators(spec)) };
}

function compileReplacement(spec: Doc): Update {
  checkStorable(spec);
  return { kind: 'replacement', apply: keepingId(() => cloneDoc(spec)) };
}

/** The `_id` stays as it was and comes first. */
function keepingId(apply: (doc: Doc, context: UpdateContext) => Doc): Update['apply'] {
  return (doc, context) => {
    const before = getField(doc, '_id');
    const result = apply(doc, context);
    const after = getField(result, '_id');
    if (before === undefined) return after === undefined ? result : { _id: after, ...result };
    if (after === undefined ? Object.hasOwn(result, '_id') : compareValues(before, after) !== 0) {
      throw new CommandError('ImmutableField', "Performing an update on the path '_id' would modify the immutable field '_id'");
    }
    if (firstNameOf(result) === '_id') {
      result['_id'] = before;
      return result;
    }
    const { _id: _replaced, ...others } = result;
    return { _id: before, ...others };
  };
}

function firstNameOf(doc: Doc): string | undefined {
  for (const name in doc) return name;
  return undefined;
}

function compileOperators(spec: Doc): (doc: Doc, context: UpdateContext) => Doc {
  const changes: Change[] = [];
  const taken: string[] = [];
  for (const [name, operand] of Object.entries(spec)) {
    const factory = MODIFIERS.get(name);
    if (!factory && name !== '$rename')
      throw new CommandError('FailedToParse', `Unknown modifier: ${name}. Expected a valid update modifier`);
    for (const [field, value] of Object.entries(modifierFields(name, operand))) {
      const path = updatePath(field);
      take(taken, field);
      if (factory) changes.push(fieldChange(name, path, factory(field, checkedOperand(name, value))));
      else changes.push(renameChange(path, value, taken));
    }
  }
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return (doc, context) => {
    const result = cloneDoc(doc);
    for (const change of changes) change.apply(result, context);
    return result;
  };
}

function checkedOperand(name: string, value: Value): Value {
  if (name === '$set' || name === '$setOnInsert' || name === '$min' || name === '$max') checkStorable(value);
  return value;
}

function updatePath(field: string): Path {
  if (field === '' || field.split('.').includes('')) {
    throw new CommandError('EmptyFieldName', `The update path '${field}' contains an empty field name, which is not allowed.`);
  }
  if (field.split('.').some((part) => part.startsWith('$'))) {
    if (/(^|\.)\$($|\.|\[)/.test(field)) throw new CommandError('BadValue', `positional operators are not supported ('${field}')`);
    throw new CommandError('DollarPrefixedFieldName', `The dollar ($) prefixed field in '${field}' is not valid for storage.`);
  }
  const path = parsePath(field);
  for (const part of path) checkStorableName(part);
  return path;
}

function take(taken: string[], field: string): void {
  const rival = taken.find((other) => other === field || other.startsWith(`${field}.`) || field.startsWith(`${other}.`));
  if (rival !== undefined) {
    throw new CommandError(
      'ConflictingUpdateOperators',
      `Updating the path '${field}' would create a conflict at '${rival.length < field.length ? rival : field}'`,
    );
  }
  taken.push(field);
}

function fieldChange(name: string, path: Path, modifier: Modifier): Change {
  return {
    path,
    apply: (doc, { now, isInsert }) => {
      if (name === '$setOnInsert' && !isInsert) return;
      if (name === '$pop' && isBlocked(doc, path))
        throw new CommandError('PathNotViable', `Cannot use the path '${path.join('.')}' to traverse a scalar`);
      const current = valueAt(doc, path);
      const next = modifier(current, { now, id: getField(doc, '_id') });
      if (next === KEEP) return;
      if (next !== undefined) setAt(doc, path, next);
      else if (name === '$unset') unsetAt(doc, path);
    },
  };
}

function renameChange(from: Path, operand: Value, taken: string[]): Change {
  if (typeof operand !== 'string') throw new CommandError('BadValue', "The 'to' field for $rename must be a string");
  const to = updatePath(operand);
  if (operand === from.join('.')) throw new CommandError('BadValue', 'The source and target field for $rename must differ');
  take(taken, operand);
  return {
    path: to,
    apply: (doc) => {
      const value = valueAt(doc, from);
      if (value === undefined) return;
      if (leadsThroughArray(doc, from)) throw new CommandError('BadValue', 'The source field of $rename cannot be an array element');
      if (leadsThroughArray(doc, to)) throw new CommandError('BadValue', 'The destination field of $rename cannot be an array element');
      unsetAt(doc, from);
      setAt(doc, to, value);
    },
  };
}

/** MongoDB applies changes in this order whatever their order in the command: parts as numbers where both are, else as text. */
function comparePaths(a: Path, b: Path): number {
  for (const [i, left] of a.entries()) {
    const right = b[i];
    if (right === undefined) return 1;
    if (left === right) continue;
    const leftIndex = arrayIndex(left);
    const rightIndex = arrayIndex(right);
    if (leftIndex !== undefined && rightIndex !== undefined) return leftIndex - rightIndex;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
