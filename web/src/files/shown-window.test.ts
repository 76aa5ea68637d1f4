import { describe, expect, it } from 'vitest';
import { scrolledHeight, scrollTopToShow, shownWindow } from './shown-window.ts';

describe('a long list', () => {
  const few = { count: 100, rowPx: 40, viewportPx: 400 };
  const many = { count: 2_000_000, rowPx: 40, viewportPx: 800 };

  it('of few rows is as high as they are', () => {
    expect(scrolledHeight(few)).toBe(4_000);
    expect(shownWindow(few, 1_000, 0)).toEqual({ first: 25, last: 35, topPx: 1_000 });
    expect(shownWindow(few, 0)).toMatchObject({ first: 0, last: 18, topPx: 0 });
  });

  it('beyond the browsers’ cap still reaches its last row', () => {
    const height = scrolledHeight(many);
    expect(height).toBeLessThan(16_000_000);
    const end = shownWindow(many, height - many.viewportPx, 0);
    expect(end.last).toBe(many.count);
    // The last row ends where what is scrolled ends.
    expect(end.topPx + (end.last - end.first) * many.rowPx).toBeCloseTo(height, 3);
  });

  it.each([0, 1, 999_999, 1_999_999])('row %d is found again by where it is scrolled to', (index) => {
    const to = scrollTopToShow(many, index === 0 ? 5_000_000 : 0, index) ?? 0;
    const { first, last, topPx } = shownWindow(many, to, 0);
    expect(first).toBeLessThanOrEqual(index);
    expect(last).toBeGreaterThan(index);
    // The whole of it is in the viewport.
    const top = topPx + (index - first) * many.rowPx;
    expect(top).toBeGreaterThan(to - 0.01);
    expect(top + many.rowPx).toBeLessThan(to + many.viewportPx + 0.01);
    expect(scrollTopToShow(many, to, index) ?? to).toBeCloseTo(to, 1);
  });

  it('is not scrolled for a row that is seen', () => expect(scrollTopToShow(few, 0, 3)).toBeUndefined());
});
