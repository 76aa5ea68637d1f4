import { ownText } from '@wharf/pace';
import { baseName, parentPath, type VirtualPath } from '@wharf/paths';

interface Node<Value> {
  value: Value | undefined;
  readonly children: Map<string, Node<Value>>;
}

/** Down from the root. */
type Way<Value> = { readonly parent: Node<Value>; readonly name: string; readonly node: Node<Value> }[];

/** From a folder to what is in it. */
export interface Step<Value> {
  readonly name: string;
  /** What is kept at the folder itself. */
  readonly value: Value | undefined;
  /** The same, or what is kept nearest above it. */
  readonly nearest: Value | undefined;
  /** Characters of the path up to the end of the name. */
  readonly length: number;
}

/** What a folder on the way to a path takes, in bytes. */
const STEP_BYTES = 224;

/** What the way to a path may take in a tree, in bytes: that of one with two thousand folders takes a hundred times as much as its letters. */
export function wayBytes(path: string): number {
  let steps = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) steps += 1;
  return STEP_BYTES * steps;
}

/**
 * Values at paths. A lookup goes down once from the root and ends where no deeper folder has a value. Its cost grows with the length of the
 * path and with what it finds, not with the values at other paths. Walking up instead would read the path once for each of its folders.
 */
export class PathTree<Value> {
  readonly #root: Node<Value> = { value: undefined, children: new Map() };

  set(path: VirtualPath, value: Value): void {
    let node = this.#root;
    for (const name of namesOf(path)) {
      let child = node.children.get(name);
      if (!child) {
        child = { value: undefined, children: new Map() };
        // It stays as long as any path leads through it: a part of this one would keep all of it.
        node.children.set(ownText(name), child);
      }
      node = child;
    }
    node.value = value;
  }

  delete(path: VirtualPath): void {
    const way = this.#wayTo(path);
    if (!way) return;
    this.#endOf(way).value = undefined;
    prune(way);
  }

  get(path: VirtualPath): Value | undefined {
    return this.#find(path)?.value;
  }

  /** Whether there is a value at the path or below it. */
  has(path: VirtualPath): boolean {
    return this.#find(path) !== undefined;
  }

  /** The value at the path, or at the nearest folder above it that has one. */
  nearest(path: VirtualPath): Value | undefined {
    let node = this.#root;
    let { value } = node;
    for (const name of namesOf(path)) {
      const child = node.children.get(name);
      if (!child) break;
      node = child;
      value = child.value ?? value;
    }
    return value;
  }

  /** Goes down to a path, as far as anything is kept at a folder on the way or further down. */
  *steps(path: VirtualPath): Generator<Step<Value>, void> {
    let node: Node<Value> | undefined = this.#root;
    let nearest: Value | undefined;
    let length = 0;
    for (const name of namesOf(path)) {
      nearest = node?.value ?? nearest;
      if (!node && nearest === undefined) return;
      length += name.length + 1;
      yield { name, value: node?.value, nearest, length };
      node = node?.children.get(name);
    }
  }

  /** To all below a path that has a value, itself `inner`, or leads to one. To go to each from the root would read a way again for each folder on it. */
  *stepsBelow(path: VirtualPath): Generator<Step<Value> & { readonly inner: Value | undefined }, void> {
    const top = this.#find(path);
    const length = path === '/' ? 0 : path.length;
    const pending = top ? [{ node: top, nearest: this.nearest(path), length }] : [];
    for (let at = pending.pop(); at; at = pending.pop())
      for (const [name, node] of at.node.children) {
        const inner = { node, nearest: node.value ?? at.nearest, length: at.length + name.length + 1 };
        yield { name, value: at.node.value, nearest: at.nearest, length: inner.length, inner: node.value };
        if (node.children.size > 0) pending.push(inner);
      }
  }

  /** Values at the path and below it. */
  *below(path: VirtualPath): Generator<Value, void> {
    yield* valuesIn(this.#find(path));
  }

  /**
   * Takes out the values at these paths and below them. The way to those in one folder is gone once, and none to what is below them: each may lead through
   * thousands of folders.
   */
  takeBelowEach(paths: readonly VirtualPath[]): Value[] {
    const taken: Value[] = [];
    for (const [folder, inner] of Map.groupBy(paths, parentPath)) {
      const way = this.#wayTo(folder);
      if (!way) continue;
      const node = this.#endOf(way);
      for (const path of inner) {
        const name = baseName(path);
        for (const value of valuesIn(name === undefined ? node : node.children.get(name))) taken.push(value);
        if (name === undefined) Object.assign(node, { value: undefined }).children.clear();
        else node.children.delete(name);
      }
      prune(way);
    }
    return taken;
  }

  #find(path: VirtualPath): Node<Value> | undefined {
    let node: Node<Value> | undefined = this.#root;
    for (const name of namesOf(path)) {
      node = node.children.get(name);
      if (!node) return undefined;
    }
    return node;
  }

  #wayTo(path: VirtualPath): Way<Value> | undefined {
    const way: Way<Value> = [];
    let parent = this.#root;
    for (const name of namesOf(path)) {
      const node = parent.children.get(name);
      if (!node) return undefined;
      way.push({ parent, name, node });
      parent = node;
    }
    return way;
  }

  #endOf(way: Way<Value>): Node<Value> {
    return way.at(-1)?.node ?? this.#root;
  }
}

/** Removes what is empty at its end. */
function prune<Value>(way: Way<Value>): void {
  for (let step = way.pop(); step && step.node.value === undefined && step.node.children.size === 0; step = way.pop())
    step.parent.children.delete(step.name);
}

function* valuesIn<Value>(top: Node<Value> | undefined): Generator<Value, void> {
  const pending = top ? [top] : [];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.value !== undefined) yield node.value;
    for (const child of node.children.values()) pending.push(child);
  }
}

/** The segments of a path, each made when it is asked for. */
function* namesOf(path: VirtualPath): Generator<string, void> {
  for (let from = 1; from < path.length; ) {
    const slash = path.indexOf('/', from);
    const end = slash === -1 ? path.length : slash;
    yield path.slice(from, end);
    from = end + 1;
  }
}
