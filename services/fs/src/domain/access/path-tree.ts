import { baseName, parentPath, type VirtualPath } from '@wharf/paths';

interface Node<Value> {
  value: Value | undefined;
  readonly children: Map<string, Node<Value>>;
}

/** From a folder to what is in it. */
interface Step<Value> {
  readonly name: string;
  /** What is kept at the folder itself. */
  readonly value: Value | undefined;
  /** The same, or what is kept nearest above it. */
  readonly nearest: Value | undefined;
  /** Characters of the path up to the end of the name. */
  readonly length: number;
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
      const child: Node<Value> = node.children.get(name) ?? { value: undefined, children: new Map() };
      node.children.set(name, child);
      node = child;
    }
    node.value = value;
  }

  delete(path: VirtualPath): void {
    const way: { node: Node<Value>; name: string }[] = [];
    let node = this.#root;
    for (const name of namesOf(path)) {
      const child = node.children.get(name);
      if (!child) return;
      way.push({ node, name });
      node = child;
    }
    node.value = undefined;
    for (let step = way.pop(); step && node.value === undefined && node.children.size === 0; step = way.pop()) {
      step.node.children.delete(step.name);
      node = step.node;
    }
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

  /** Values at the path and below it. */
  *below(path: VirtualPath): Generator<Value, void> {
    yield* valuesIn(this.#find(path));
  }

  /** The same of several paths. The way to those in one folder is gone once: it may lead through thousands of folders. */
  *belowEach(paths: readonly VirtualPath[]): Generator<Value, void> {
    for (const [folder, inner] of Map.groupBy(paths, parentPath)) {
      const node = this.#find(folder);
      for (const path of inner) {
        const name = baseName(path);
        yield* valuesIn(name === undefined ? node : node?.children.get(name));
      }
    }
  }

  #find(path: VirtualPath): Node<Value> | undefined {
    let node: Node<Value> | undefined = this.#root;
    for (const name of namesOf(path)) {
      node = node.children.get(name);
      if (!node) return undefined;
    }
    return node;
  }
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
