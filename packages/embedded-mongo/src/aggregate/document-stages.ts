import { cloneDoc, type Doc, getField, isDoc, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { compileExpression, type Expression } from '../expression/expression.ts';
import { type Path, parsePath } from '../query/path.ts';
import { parseProjection } from '../query/projection.ts';

/** A stage that makes one document of one document. The given one is not touched. */
export type DocumentStage = (doc: Doc, now: Date) => Doc;

/** @throws CommandError Location40323 when it is no document of one field. */
export function readStage(stage: Value): { name: string; operand: Value } {
  if (!isDoc(stage)) throw new CommandError('TypeMismatch', "Each element of the 'pipeline' array must be an object");
  const [name, ...others] = Object.keys(stage);
  if (name === undefined || others.length > 0) {
    throw new CommandError('Location40323', 'A pipeline stage specification object must contain exactly one field.');
  }
  return { name, operand: getField(stage, name) ?? null };
}

/** @returns undefined when the stage is none of these. */
export function compileDocumentStage(name: string, operand: Value): DocumentStage | undefined {
  switch (name) {
    case '$set':
    case '$addFields':
      return compileAddFields(name, operand);
    case '$unset':
      return compileUnset(operand);
    case '$project':
      return compileProject(operand);
    case '$replaceWith':
      return compileReplaceWith(operand);
    case '$replaceRoot': {
      const newRoot = isDoc(operand) ? getField(operand, 'newRoot') : undefined;
      if (newRoot === undefined) throw new CommandError('FailedToParse', "the 'newRoot' of $replaceRoot is missing");
      return compileReplaceWith(newRoot);
    }
    default:
      return undefined;
  }
}

interface Assignment {
  readonly path: Path;
  readonly expression: Expression;
}

function compileAddFields(name: string, operand: Value): DocumentStage {
  if (!isDoc(operand)) throw new CommandError('BadValue', `${name} specification stage must be an object, got ${typeName(operand)}`);
  const assignments = readAssignments(operand, []);
  if (assignments.length === 0) throw new CommandError('BadValue', `${name} specification must have at least one field`);
  return (doc, now) => assign(doc, doc, assignments, now);
}

function assign(target: Doc, root: Doc, assignments: readonly Assignment[], now: Date): Doc {
  const result = cloneDoc(target);
  for (const { path, expression } of assignments) setThroughArrays(result, path, 0, expression({ root, now }));
  return result;
}

function readAssignments(spec: Doc, prefix: Path): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(spec)) {
    const path = [...prefix, ...parsePath(name)];
    const isNested = isDoc(value) && Object.keys(value).length > 0 && !Object.keys(value)[0]?.startsWith('$');
    if (isNested) assignments.push(...readAssignments(value, path));
    else assignments.push({ path, expression: compileExpression(value) });
  }
  const names = assignments.map(({ path }) => path.join('.'));
  for (const [i, name] of names.entries()) {
    if (names.some((other, k) => k !== i && (other === name || other.startsWith(`${name}.`)))) {
      throw new CommandError('Location40176', `specification contains two conflicting paths: '${name}'`);
    }
  }
  return assignments;
}

/** Sets the field in each document of the arrays on the way. Any other value on the way is replaced by a document. */
function setThroughArrays(holder: Doc, path: Path, from: number, value: Value | undefined): void {
  const name = path[from] ?? '';
  if (from === path.length - 1) {
    if (value === undefined) delete holder[name];
    else holder[name] = value;
    return;
  }
  holder[name] = setInside(getField(holder, name), path, from + 1, value);
}

function setInside(current: Value | undefined, path: Path, from: number, value: Value | undefined): Value {
  if (Array.isArray(current)) return current.map((element) => setInside(element, path, from, value));
  const holder = isDoc(current) ? current : {};
  setThroughArrays(holder, path, from, value);
  return holder;
}

function compileUnset(operand: Value): DocumentStage {
  const names = Array.isArray(operand) ? operand : [operand];
  const spec: Doc = {};
  for (const name of names) {
    if (typeof name !== 'string') throw new CommandError('Location31002', '$unset specification must be a string or an array of strings');
    spec[name] = false;
  }
  if (names.length === 0)
    throw new CommandError('Location31119', '$unset specification must be a string or an array with at least one field');
  const projection = parseProjection(spec);
  return (doc) => projection?.apply(doc) ?? doc;
}

function compileProject(operand: Value): DocumentStage {
  if (!isDoc(operand)) throw new CommandError('Location15969', '$project specification must be an object');
  const projection = parseProjection(operand);
  if (!projection) throw new CommandError('Location51272', '$project specification must have at least one field');
  const { apply } = projection;
  const computed = projection.computed.map(({ path, expression }) => ({
    path: parsePath(path),
    expression: compileExpression(expression),
  }));
  if (computed.length === 0) return (doc) => apply(doc);
  return (doc, now) => assign(apply(doc), doc, computed, now);
}

function compileReplaceWith(operand: Value): DocumentStage {
  const expression = compileExpression(operand);
  return (root, now) => {
    const result = expression({ root, now });
    if (!isDoc(result)) {
      throw new CommandError(
        'Location40228',
        `'newRoot' expression must evaluate to an object, but resulting value was of type ${typeName(result)}`,
      );
    }
    return result;
  };
}
