import { type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';

/** A dotted path, split. */
export type Path = readonly string[];

/** MongoDB's documented limit of nesting, which a longer path could never reach. */
const MAX_PARTS = 200;

/** @throws CommandError BadValue for a path with an empty part, a part that begins with `$`, or too many parts. */
export function parsePath(path: string): Path {
  const parts = path.split('.');
  if (parts.length > MAX_PARTS) throw new CommandError('BadValue', 'a field path has too many parts');
  for (const part of parts) {
    if (part === '') throw new CommandError('BadValue', `the field path '${path}' has an empty part`);
    if (part.startsWith('$')) throw new CommandError('BadValue', `the field path '${path}' has a part that begins with '$'`);
  }
  return parts;
}

/** The index that a path part names inside an array, or undefined when it is no index ("01" is none). */
export function arrayIndex(part: string): number | undefined {
  return /^(0|[1-9][0-9]{0,8})$/.test(part) ? Number(part) : undefined;
}

/** What a path leads to; undefined stands for a missing field. `element` is true when the path itself named an array element. */
type Visit = (value: Value | undefined, element: boolean) => boolean;

/**
 * Visits everything a path leads to in a document, until a visit answers true.
 *
 * Arrays on the way are traversed: into each document in them, and by index where the part is one. A missing field is visited as
 * undefined, but scalars inside an array on the way are not visited at all: `{a: [1]}` has nothing at `a.b`, `{a: 1}` has a missing field.
 *
 * @returns true when a visit did.
 */
export function someLeaf(doc: Doc, path: Path, visit: Visit, from = 0): boolean {
  const value = getField(doc, path[from] ?? '');
  if (from === path.length - 1) return visit(value, false);
  if (isDoc(value)) return someLeaf(value, path, visit, from + 1);
  if (Array.isArray(value)) return someLeafInArray(value, path, visit, from + 1);
  return visit(undefined, false);
}

/** As {@link someLeaf}, and each element of an array at the end of the path before the array itself. */
export function someValue(doc: Doc, path: Path, test: (value: Value | undefined) => boolean): boolean {
  return someLeaf(doc, path, (value, element) => (Array.isArray(value) && !element && value.some(test)) || test(value));
}

function someLeafInArray(array: readonly Value[], path: Path, visit: Visit, from: number): boolean {
  const wanted = arrayIndex(path[from] ?? '');
  for (const [index, element] of array.entries()) {
    if (isDoc(element) && someLeaf(element, path, visit, from)) return true;
    if (index !== wanted) continue;
    if (from === path.length - 1) {
      if (visit(element, true)) return true;
    } else if (isDoc(element)) {
      if (someLeaf(element, path, visit, from + 1)) return true;
    } else if (Array.isArray(element) && someLeafInArray(element, path, visit, from + 1)) return true;
  }
  return false;
}
