import { showValue } from '../bson/show-value.ts';
import { type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { arrayIndex, type Path } from '../query/path.ts';

/** MongoDB pads an array with at most this many nulls when an index beyond its end is set. */
const MAX_PADDING = 1_500_000;

/** The value at a path; array elements are reached by index only. undefined: there is none. */
export function valueAt(doc: Doc, path: Path): Value | undefined {
  let value: Value | undefined = doc;
  for (const part of path) {
    if (isDoc(value)) value = getField(value, part);
    else if (Array.isArray(value)) {
      const index = arrayIndex(part);
      value = index === undefined ? undefined : value[index];
    } else return undefined;
  }
  return value;
}

/**
 * Sets a value in place, making documents on the way where nothing is.
 *
 * @throws CommandError PathNotViable when the way leads through a scalar, or into an array by a name.
 */
export function setAt(doc: Doc, path: Path, value: Value): void {
  let holder: Doc | Value[] = doc;
  for (const [i, part] of path.entries()) {
    const isLast = i === path.length - 1;
    const known: Value | undefined = childOf(holder, part);
    if (isLast) {
      put(holder, part, value);
      return;
    }
    if (isDoc(known) || Array.isArray(known)) holder = known;
    else if (known === undefined) {
      const made: Doc = {};
      put(holder, part, made);
      holder = made;
    } else throw notViable(path[i + 1] ?? '', part, known);
  }
}

/** Removes a field in place; an array element becomes null, so that the others keep their places. */
export function unsetAt(doc: Doc, path: Path): void {
  const holder = valueAt(doc, path.slice(0, -1));
  const last = path[path.length - 1] ?? '';
  if (isDoc(holder)) delete holder[last];
  else if (Array.isArray(holder)) {
    const index = arrayIndex(last);
    if (index !== undefined && index < holder.length) holder[index] = null;
  }
}

/** True when something that holds no fields, or an array that the path names no index of, stands on the way to its end. */
export function isBlocked(doc: Doc, path: Path): boolean {
  let value: Value = doc;
  for (const part of path) {
    if (Array.isArray(value) ? arrayIndex(part) === undefined : !isDoc(value)) return true;
    const next: Value | undefined = isDoc(value) ? getField(value, part) : Array.isArray(value) ? value[arrayIndex(part) ?? 0] : undefined;
    if (next === undefined) return false;
    value = next;
  }
  return false;
}

/** True when the way to the path's end leads through an array. */
export function leadsThroughArray(doc: Doc, path: Path): boolean {
  return path.some((_, i) => i > 0 && Array.isArray(valueAt(doc, path.slice(0, i))));
}

function childOf(holder: Doc | Value[], part: string): Value | undefined {
  if (!Array.isArray(holder)) return getField(holder, part);
  const index = arrayIndex(part);
  if (index === undefined) throw notViable(part, 'array', holder);
  return holder[index];
}

function put(holder: Doc | Value[], part: string, value: Value): void {
  if (!Array.isArray(holder)) {
    holder[part] = value;
    return;
  }
  const index = arrayIndex(part) ?? 0;
  if (index - holder.length > MAX_PADDING) throw new CommandError('BadValue', 'cannot backfill an array to that size');
  while (holder.length < index) holder.push(null);
  holder[index] = value;
}

function notViable(part: string, name: string, value: Value): CommandError {
  return new CommandError('PathNotViable', `Cannot create field '${part}' in element {${name}: ${showValue(value)}}`);
}
