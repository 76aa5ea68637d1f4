import fc from 'fast-check';
import { expect, it } from 'vitest';
import { vpath } from '../testing/memory-tree.ts';
import { usedBytes } from '../testing/used-bytes.ts';
import { PathTree } from './path-tree.ts';

const path = fc.array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 4 }).map((names) => vpath(`/${names.join('/')}`));
const change = fc.record({ path, isRemoved: fc.boolean() });

it('answers what a plain list of paths would', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), path, path, (changes, asked, other) => {
      const tree = new PathTree<string>();
      const list = new Set<string>();
      for (const { path: at, isRemoved } of changes) {
        if (isRemoved) tree.delete(at);
        else tree.set(at, at);
        list[isRemoved ? 'delete' : 'add'](at);
      }
      const isAtOrBelow = (base: string, inner: string) => base === '/' || inner === base || inner.startsWith(`${base}/`);
      const above = [...list].filter((each) => isAtOrBelow(each, asked)).sort((left, right) => right.length - left.length);
      const below = [...list].filter((each) => isAtOrBelow(asked, each));
      expect(tree.get(asked)).toBe(list.has(asked) ? asked : undefined);
      expect(tree.nearest(asked)).toBe(above[0]);
      expect([...tree.below(asked)].sort()).toEqual(below.sort());
      const stepsBelow = [...tree.stepsBelow(asked)];
      expect(stepsBelow.flatMap(({ inner }) => inner ?? []).sort()).toEqual(below.filter((each) => each !== asked).sort());
      for (const { inner, name, value, nearest, length } of stepsBelow.filter((each) => each.inner !== undefined)) {
        const folder = inner?.slice(0, -name.length - 1) || '/';
        expect([inner?.length, inner?.endsWith(`/${name}`), value]).toEqual([length, true, list.has(folder) ? folder : undefined]);
        expect(nearest).toBe([...list].filter((each) => isAtOrBelow(each, folder)).sort((left, right) => right.length - left.length)[0]);
      }
      const belowOther = [...list].filter((each) => isAtOrBelow(other, each));

      expect(tree.has(asked)).toBe(asked === '/' || below.length > 0);
      const steps = [...tree.steps(asked)];
      expect(steps.flatMap(({ value }) => value ?? [])).toEqual(above.filter((each) => each !== asked).reverse());
      for (const { name, nearest, length } of steps) {
        const inner = asked.slice(0, length);
        expect(inner.endsWith(`/${name}`)).toBe(true);
        expect(nearest).toBe(above.find((each) => each.length < inner.length));
      }
      const both = new Set([...below, ...belowOther]);
      expect(tree.takeBelowEach([asked, other]).sort()).toEqual([...both].sort());
      expect([...tree.below(vpath('/'))].sort()).toEqual([...list].filter((each) => !both.has(each)).sort());
      for (const each of list)
        expect(tree.has(vpath(each))).toBe([...list].some((left) => !both.has(left) && isAtOrBelow(each, left)) || each === '/');
    }),
  );
});

it('what stays of a way keeps no longer path that led through it (C18)', () => {
  const tree = new PathTree<number>();
  const below = `/${'x'.repeat(250)}`.repeat(15);
  const before = usedBytes();
  for (let index = 0; index < 5_000; index += 1) {
    const folder = `/folder-number-${index}`;
    // Made elsewhere, as those of requests are.
    const long = vpath(Buffer.from(folder + below).toString());
    tree.set(long, index);
    tree.set(vpath(`${folder}/b`), index);
    tree.delete(long);
  }
  // The long paths have 19 MB, and the ways that stay 4 MB.
  expect(usedBytes() - before).toBeLessThan(8_000_000);
  expect(tree.get(vpath('/folder-number-1/b'))).toBe(1);
});
