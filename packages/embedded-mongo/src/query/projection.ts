import { toNumber } from '../bson/arithmetic.ts';
import { type Doc, getField, isDoc, isNumber, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { parsePath } from './path.ts';

export type Projection = (doc: Doc) => Doc;

/** Which fields are named, level by level; `true` ends a path. */
type FieldTree = Map<string, FieldTree | true>;

/** A value of a projection that is neither 0 nor 1: a stage of an aggregation may compute it. */
export interface ComputedField {
  readonly path: string;
  readonly expression: Value;
}

export interface ParsedProjection {
  readonly apply: Projection;
  readonly computed: readonly ComputedField[];
}

interface Leaf {
  readonly path: string;
  readonly included: boolean;
}

/**
 * Compiles the projection of a find.
 *
 * @returns undefined for an empty one, which keeps the document as it is.
 * @throws CommandError Location31253 or Location31254 when inclusion and exclusion are mixed, Location31249 for paths that collide.
 */
export function compileProjection(spec: Doc): Projection | undefined {
  const parsed = parseProjection(spec);
  const [computed] = parsed?.computed ?? [];
  if (computed) throw new CommandError('BadValue', `the projection of '${computed.path}' must be 0 or 1; expressions are not supported`);
  return parsed?.apply;
}

/** As {@link compileProjection}, with the computed fields of `$project` handed back. */
export function parseProjection(spec: Doc): ParsedProjection | undefined {
  const leaves: Leaf[] = [];
  const computed: ComputedField[] = [];
  collect(spec, '', leaves, computed);
  const first = leaves.find((leaf) => leaf.path !== '_id') ?? (computed.length === 0 ? leaves[0] : undefined);
  if (first === undefined && computed.length === 0) return undefined;
  const inclusion = first?.included ?? true;
  const tree: FieldTree = new Map();
  for (const leaf of leaves) {
    if (leaf.path === '_id') continue;
    if (leaf.included !== inclusion) {
      if (inclusion) throw new CommandError('Location31254', `Cannot do exclusion on field ${leaf.path} in inclusion projection`);
      throw new CommandError('Location31253', `Cannot do inclusion on field ${leaf.path} in exclusion projection`);
    }
    addPath(tree, leaf.path);
  }
  if (computed.length > 0 && !inclusion) {
    throw new CommandError('Location31253', `Cannot do inclusion on field ${computed[0]?.path} in exclusion projection`);
  }
  const id = leaves.find((leaf) => leaf.path === '_id');
  const keepsId = id?.included ?? true;
  if (keepsId === inclusion) addPath(tree, '_id');
  return { apply: inclusion ? (doc) => include(doc, tree) : (doc) => exclude(doc, tree), computed };
}

function collect(spec: Doc, prefix: string, leaves: Leaf[], computed: ComputedField[]): void {
  for (const [name, value] of Object.entries(spec)) {
    const path = prefix + name;
    if (name.startsWith('$')) throw new CommandError('BadValue', `the projection operator ${name} is not supported`);
    parsePath(path);
    if (isNumber(value)) leaves.push({ path, included: toNumber(value) !== 0 });
    else if (typeof value === 'boolean') leaves.push({ path, included: value });
    else if (isDoc(value) && !Object.keys(value)[0]?.startsWith('$')) {
      if (Object.keys(value).length === 0) throw new CommandError('BadValue', 'an empty sub-projection is not a valid value');
      collect(value, `${path}.`, leaves, computed);
    } else computed.push({ path, expression: value });
  }
}

function addPath(tree: FieldTree, path: string): void {
  const parts = parsePath(path);
  let level = tree;
  for (const [i, part] of parts.entries()) {
    const known = level.get(part);
    const isLast = i === parts.length - 1;
    if (known === true || (isLast && known !== undefined)) throw new CommandError('Location31249', `Path collision at ${path}`);
    if (isLast) level.set(part, true);
    else if (known) level = known;
    else {
      const next: FieldTree = new Map();
      level.set(part, next);
      level = next;
    }
  }
}

function include(doc: Doc, tree: FieldTree): Doc {
  const result: Doc = {};
  for (const name of Object.keys(doc)) {
    const node = tree.get(name);
    const value = getField(doc, name) ?? null;
    if (node === undefined) continue;
    if (node === true) result[name] = value;
    else if (isDoc(value)) result[name] = include(value, node);
    else if (Array.isArray(value)) result[name] = includeInArray(value, node);
  }
  return result;
}

/** Elements that are neither documents nor arrays cannot hold the wanted field and are dropped. */
function includeInArray(array: readonly Value[], tree: FieldTree): Value[] {
  const result: Value[] = [];
  for (const element of array) {
    if (isDoc(element)) result.push(include(element, tree));
    else if (Array.isArray(element)) result.push(includeInArray(element, tree));
  }
  return result;
}

function exclude(doc: Doc, tree: FieldTree): Doc {
  const result: Doc = {};
  for (const name of Object.keys(doc)) {
    const node = tree.get(name);
    const value = getField(doc, name) ?? null;
    if (node === true) continue;
    result[name] = node === undefined ? value : excludeInValue(value, node);
  }
  return result;
}

function excludeInValue(value: Value, tree: FieldTree): Value {
  if (isDoc(value)) return exclude(value, tree);
  return Array.isArray(value) ? value.map((element) => excludeInValue(element, tree)) : value;
}
