import { toSafeInteger } from '../bson/arithmetic.ts';
import { EMPTY_ARRAY, type KeyPart, type KeyWriter } from '../bson/key-encoding.ts';
import { type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { arrayIndex, type Path, parsePath } from './path.ts';

export interface KeyField {
  readonly name: string;
  readonly path: Path;
  readonly descending: boolean;
}

/** What an index or a sort orders by. */
export type KeyPattern = readonly KeyField[];

/** MongoDB allows an index 32 fields; a sort has the same bound here. */
const MAX_FIELDS = 32;

/**
 * Reads `{a: 1, 'b.c': -1}`.
 *
 * @throws CommandError BadValue for anything but 1 and -1, for a numeric part of a path, and for more than 32 fields.
 */
export function parseKeyPattern(pattern: Doc): KeyPattern {
  const fields = Object.entries(pattern).map(([name, direction]): KeyField => {
    const path = parsePath(name);
    if (path.some((part) => arrayIndex(part) !== undefined))
      throw new CommandError('BadValue', `an order by the array index in '${name}' is not supported`);
    const sign = toSafeInteger(direction);
    if (sign !== 1 && sign !== -1) throw new CommandError('BadValue', `the direction of '${name}' must be 1 or -1`);
    return { name, path, descending: sign === -1 };
  });
  if (fields.length > MAX_FIELDS) throw new CommandError('BadValue', `at most ${MAX_FIELDS} fields can be ordered by`);
  return fields;
}

export interface DocumentKeys {
  /** Each key once, ascending. */
  readonly keys: readonly Buffer[];
  /** True when an array was met: the document may have several keys, and a key does not stand for all its values. */
  readonly multikey: boolean;
}

/**
 * The keys under which a document stands in an index: one, or one for each element of an array on the way.
 *
 * @throws CommandError CannotIndexParallelArrays when two fields lead into different arrays.
 */
export function documentKeys(doc: Doc, pattern: KeyPattern, writer: KeyWriter): DocumentKeys {
  const keys: Buffer[] = [];
  const slots = pattern.map((field) => resolve(doc, field.path, 0));
  const multikey = slots.some((slot) => slot instanceof PendingArray);
  expand(slots, pattern, (parts) => {
    for (const [i, part] of parts.entries()) writer.writePart(part, pattern[i]?.descending ?? false);
    keys.push(writer.take());
  });
  if (keys.length < 2) return { keys, multikey };
  keys.sort(Buffer.compare);
  return { keys: keys.filter((key, i) => i === 0 || !key.equals(keys[i - 1] ?? key)), multikey };
}

/** The bytes by which a sort orders the document: of several keys the first in the sort's direction, as MongoDB does with arrays. */
export function sortKey(doc: Doc, pattern: KeyPattern, writer: KeyWriter): Buffer {
  const [first] = documentKeys(doc, pattern, writer).keys;
  return first ?? Buffer.alloc(0);
}

/** True when at least one field of the pattern exists in the document: what a sparse index holds. */
export function hasAnyField(doc: Doc, pattern: KeyPattern): boolean {
  return pattern.some((field) => isPresent(doc, field.path, 0));
}

function isPresent(value: Value | undefined, path: Path, from: number): boolean {
  if (value === undefined) return false;
  if (from === path.length) return true;
  if (Array.isArray(value)) return value.some((element) => isDoc(element) && isPresent(element, path, from));
  return isDoc(value) && isPresent(getField(value, path[from] ?? ''), path, from + 1);
}

/** An array that a path ran into; `from` is the first part of the path that lies inside its elements. */
class PendingArray {
  readonly elements: readonly Value[];
  readonly path: Path;
  readonly from: number;

  constructor(elements: readonly Value[], path: Path, from: number) {
    this.elements = elements;
    this.path = path;
    this.from = from;
  }

  /** The slot for one element; undefined stands for the only "element" of an empty array. */
  at(element: Value | undefined): Slot {
    if (this.from === this.path.length) return element === undefined ? EMPTY_ARRAY : element;
    return isDoc(element) ? resolve(element, this.path, this.from) : null;
  }
}

type Slot = KeyPart | PendingArray;

function resolve(start: Value, path: Path, first: number): Slot {
  let value: Value | undefined = start;
  for (let from = first; from < path.length; from++) {
    if (Array.isArray(value)) return new PendingArray(value, path, from);
    if (!isDoc(value)) return null;
    value = getField(value, path[from] ?? '');
  }
  if (Array.isArray(value)) return new PendingArray(value, path, path.length);
  return value ?? null;
}

function expand(slots: readonly Slot[], pattern: KeyPattern, emit: (parts: readonly KeyPart[]) => void): void {
  const pending = slots.find((slot) => slot instanceof PendingArray);
  if (pending === undefined) {
    emit(slots.flatMap((slot) => (slot instanceof PendingArray ? [] : [slot])));
    return;
  }
  for (const slot of slots) {
    if (slot instanceof PendingArray && slot.elements !== pending.elements) {
      throw new CommandError(
        'CannotIndexParallelArrays',
        `cannot index parallel arrays (${pattern.map((field) => field.name).join(', ')})`,
      );
    }
  }
  const elements = pending.elements.length === 0 ? [undefined] : pending.elements;
  for (const element of elements) {
    expand(
      slots.map((slot) => (slot instanceof PendingArray ? slot.at(element) : slot)),
      pattern,
      emit,
    );
  }
}
