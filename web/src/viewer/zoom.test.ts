import { describe, expect, it } from 'vitest';
import { FITTED, keepOnStage, mostScale, zoomAt } from './zoom.ts';

const STAGE = { width: 800, height: 600 };
const PICTURE = { width: 800, height: 400 };

describe('a zoom', () => {
  it('keeps what is under the pointer where it is', () => {
    const point = { x: 120, y: -40 };
    const before = { scale: 2, x: 30, y: 10 };
    const after = zoomAt(before, 1.5, point, 8);
    const under = ({ scale, x, y }: typeof before) => [(point.x - x) / scale, (point.y - y) / scale];
    expect(after.scale).toBe(3);
    expect(under(after)).toEqual(under(before));
  });

  it('is never smaller than what fits, nor larger than the most', () => {
    expect(zoomAt({ scale: 1.2, x: 5, y: 5 }, 0.1, { x: 0, y: 0 }, 8).scale).toBe(1);
    expect(zoomAt(FITTED, 100, { x: 0, y: 0 }, 8).scale).toBe(8);
  });

  it('goes to four times the pixels of a large picture, and to some of a small one', () => {
    expect(mostScale({ width: 8000, height: 4000 }, PICTURE)).toBe(40);
    expect(mostScale({ width: 100, height: 50 }, { width: 100, height: 50 })).toBe(8);
  });

  it('leaves no gap beside a picture that is cut elsewhere', () => {
    expect(keepOnStage({ scale: 2, x: 900, y: -900 }, PICTURE, STAGE)).toEqual({ scale: 2, x: 400, y: -100 });
    expect(keepOnStage({ scale: 1, x: 50, y: 50 }, PICTURE, STAGE)).toEqual(FITTED);
  });
});
