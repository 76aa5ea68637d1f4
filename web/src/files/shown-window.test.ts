import { describe, expect, it } from 'vitest';
import type { Group } from './group-entries.ts';
import {
  entriesWithin,
  layRows,
  movedByGroups,
  movedByRows,
  scrolledHeight,
  scrollTopToShow,
  shownWindow,
  stuckHead,
} from './shown-window.ts';

const places = (lines: readonly unknown[]) => [lines[0], lines.at(-1)];

describe('a long list', () => {
  const few = layRows(100, [], { columns: 1, rowPx: 40, headPx: 0, viewportPx: 400 });
  const many = layRows(2_000_000, [], { columns: 1, rowPx: 40, headPx: 0, viewportPx: 800 });

  it('of few rows is as high as they are', () => {
    expect(scrolledHeight(few)).toBe(4_000);
    const middle = shownWindow(few, 1_000, 0);
    expect([places(middle.lines), middle.topPx]).toEqual([[25, 34], 1_000]);
    const top = shownWindow(few, 0);
    expect([places(top.lines), top.topPx]).toEqual([[0, 17], 0]);
  });

  it('beyond the browsers’ cap still reaches its last row', () => {
    const height = scrolledHeight(many);
    expect(height).toBeLessThan(16_000_000);
    const end = shownWindow(many, height - many.viewportPx, 0);
    expect(end.lines.at(-1)).toBe(1_999_999);
    // The last row ends where what is scrolled ends.
    expect(end.topPx + end.lines.length * many.rowPx).toBeCloseTo(height, 3);
  });

  it.each([0, 1, 999_999, 1_999_999])('row %d is found again by where it is scrolled to', (index) => {
    const to = scrollTopToShow(many, index === 0 ? 5_000_000 : 0, index) ?? 0;
    const { lines, topPx } = shownWindow(many, to, 0);
    expect(lines).toContain(index);
    // The whole of it is in the viewport.
    const top = topPx + lines.indexOf(index) * many.rowPx;
    expect(top).toBeGreaterThan(to - 0.01);
    expect(top + many.rowPx).toBeLessThan(to + many.viewportPx + 0.01);
    expect(scrollTopToShow(many, to, index) ?? to).toBeCloseTo(to, 1);
  });

  it('is not scrolled for a row that is seen', () => expect(scrollTopToShow(few, 0, 3)).toBeUndefined());
});

describe('a list in groups', () => {
  /** Of 5, 1 and 7 entries, three in a row. */
  const groups: Group[] = [5, 1, 7].map((count, at) => ({ grouping: 'letter', key: 'ABC'[at] ?? '', first: [0, 5, 6][at] ?? 0, count }));
  const rows = layRows(13, groups, { columns: 3, rowPx: 100, headPx: 20, viewportPx: 150 });
  const shown = (scrollTop: number) => shownWindow(rows, scrollTop, 0).lines.map((line) => (typeof line === 'number' ? line : line.key));

  it('is as high as its rows and headings', () => expect(scrolledHeight(rows)).toBe(2 * 100 + 100 + 3 * 100 + 3 * 20));

  it('shows the headings of the groups that begin there', () => {
    expect(shown(0)).toEqual(['A', 0, 1, 2, 3, 4]);
    expect(shownWindow(rows, 130, 0).topPx).toBe(120);
    expect(shown(130)).toEqual([3, 4, 'B', 5]);
    expect(shown(490)).toEqual([9, 10, 11, 12]);
  });

  it('has the heading of what is above stay, until the next one pushes it', () => {
    expect(stuckHead(rows, 0)).toMatchObject({ group: { key: 'A' }, pushedPx: 0 });
    expect(stuckHead(rows, 210)).toMatchObject({ group: { key: 'A' }, pushedPx: 10 });
    expect(stuckHead(rows, 221)).toMatchObject({ group: { key: 'B' }, pushedPx: 0 });
  });

  it('is scrolled so that what is shown is below the heading that stays', () => {
    expect(scrollTopToShow(rows, 0, 5)).toBe(340 - 150);
    // Its own heading is seen with the first of a group.
    expect(scrollTopToShow(rows, 400, 6)).toBe(340);
    expect(scrollTopToShow(rows, 400, 3)).toBe(100);
  });

  it('is walked by rows in one column, and by groups', () => {
    expect([0, 1, 2, 4].map((index) => movedByRows(rows, index, 1))).toEqual([3, 4, 4, 5]);
    expect([5, 8, 12, 0].map((index) => movedByRows(rows, index, -1))).toEqual([3, 5, 9, 0]);
    expect(movedByRows(rows, 1, 100)).toBe(12);
    expect([0, 4, 5, 12].map((index) => movedByGroups(rows, index, 1))).toEqual([5, 5, 6, 6]);
    expect(movedByGroups(rows, 12, -1)).toBe(5);
  });

  it('of many more groups costs hardly more to scroll', () => {
    const looksOf = (count: number) => {
      const many = Array.from({ length: count }, (_, at): Group => ({ grouping: 'day', key: at, first: at * 2, count: 2 }));
      const laid = layRows(count * 2, many, { columns: 1, rowPx: 44, headPx: 36, viewportPx: 800 });
      let looks = 0;
      const blocks = new Proxy(laid.blocks, {
        get(target, key) {
          looks += 1;
          return Reflect.get(target, key);
        },
      });
      const { lines } = shownWindow({ ...laid, blocks }, scrolledHeight(laid) / 2);
      stuckHead({ ...laid, blocks }, scrolledHeight(laid) / 2);
      scrollTopToShow({ ...laid, blocks }, 0, count);
      expect(lines.length).toBeLessThan(60);
      return looks;
    };
    // Ten times the groups are a few steps more of halving.
    expect(looksOf(50_000)).toBeLessThan(1.5 * looksOf(5_000));
  });

  it('of it a rectangle touches entries, not headings', () => {
    expect(entriesWithin(rows, { top: 5, bottom: 15, left: 0, right: 2.9 })).toEqual([]);
    expect(entriesWithin(rows, { top: 130, bottom: 350, left: 0.5, right: 1.5 })).toEqual([3, 4, 5]);
    expect(entriesWithin(rows, { top: -50, bottom: 9_999, left: -1, right: 5 })).toHaveLength(13);
  });
});
