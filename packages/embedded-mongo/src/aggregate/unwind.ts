import { Long } from 'bson';
import { cloneDoc, type Doc, getField, isDoc, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { type Path, parsePath } from '../query/path.ts';
import { setAt, unsetAt } from '../update/document-path.ts';

interface UnwindOptions {
  readonly path: Path;
  readonly indexPath: Path | undefined;
  readonly keepsEmpty: boolean;
}

/** @throws CommandError Location28812, Location28818 and others for options that `$unwind` does not take. */
export function compileUnwind(operand: Value): (input: Iterable<Doc>) => Generator<Doc> {
  const options = readOptions(operand);
  return function* unwind(input) {
    for (const doc of input) yield* unwindDocument(doc, options);
  };
}

function* unwindDocument(doc: Doc, { path, indexPath, keepsEmpty }: UnwindOptions): Generator<Doc> {
  const value = fieldAt(doc, path);
  if (Array.isArray(value) && value.length > 0) {
    for (const [index, element] of value.entries()) {
      const result = cloneDoc(doc);
      setAt(result, path, element);
      if (indexPath) setAt(result, indexPath, Long.fromNumber(index));
      yield result;
    }
    return;
  }
  const isEmpty = value === undefined || value === null || Array.isArray(value);
  if (isEmpty && !keepsEmpty) return;
  const result = cloneDoc(doc);
  if (Array.isArray(value)) unsetAt(result, path);
  if (indexPath) setAt(result, indexPath, null);
  yield result;
}

/** The path leads through documents only. */
function fieldAt(doc: Doc, path: Path): Value | undefined {
  let value: Value | undefined = doc;
  for (const part of path) {
    if (!isDoc(value)) return undefined;
    value = getField(value, part);
  }
  return value;
}

function readOptions(operand: Value): UnwindOptions {
  const spec: Doc = isDoc(operand) ? operand : { path: operand };
  let path: Value | undefined;
  let indexPath: Path | undefined;
  let keepsEmpty = false;
  for (const [name, value] of Object.entries(spec)) {
    if (name === 'path') path = value;
    else if (name === 'preserveNullAndEmptyArrays') {
      if (typeof value !== 'boolean')
        throw new CommandError('Location28809', 'expected a boolean for the preserveNullAndEmptyArrays option');
      keepsEmpty = value;
    } else if (name === 'includeArrayIndex') {
      if (typeof value !== 'string' || value === '' || value.startsWith('$')) {
        throw new CommandError('Location28810', 'expected a non-empty string without $ for the includeArrayIndex option');
      }
      indexPath = parsePath(value);
    } else throw new CommandError('Location28811', `unrecognized option to $unwind stage: ${name}`);
  }
  if (typeof path !== 'string')
    throw new CommandError('Location28808', `expected a string as the path for $unwind stage, got ${typeName(path)}`);
  if (!path.startsWith('$')) throw new CommandError('Location28818', `path option to $unwind stage should be prefixed with a '$': ${path}`);
  return { path: parsePath(path.slice(1)), indexPath, keepsEmpty };
}
