import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFirstFrame, isGif } from './gif-frame.ts';
import { gifOf } from './testing/pictures.ts';

/** The shades of a decoded picture, by index. */
const shades = (rgba: Uint8Array) => Array.from({ length: rgba.length / 4 }, (_, pixel) => (rgba[pixel * 4] ?? 0) / 16);

describe('the first frame of a GIF', () => {
  it('is what was put in, however long its codes get', () => {
    const picture = fc
      .tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 90 }), fc.integer({ min: 0, max: 15 }))
      .chain(([width, height, top]) =>
        fc.record({
          width: fc.constant(width),
          height: fc.constant(height),
          indexes: fc.array(fc.integer({ min: 0, max: top }), { minLength: width * height, maxLength: width * height, size: 'max' }),
        }),
      );
    fc.assert(
      fc.property(picture, ({ width, height, indexes }) => {
        const decoded = decodeFirstFrame(gifOf(width, height, indexes));
        expect([decoded.width, decoded.height]).toEqual([width, height]);
        expect(shades(decoded.rgba)).toEqual(indexes);
      }),
      { numRuns: 60 },
    );
  });

  it('has its rows in order, also when they come interlaced', () => {
    // Rows 0 and 8, then 4, then 2 and 6, then the odd ones.
    const order = [0, 8, 4, 2, 6, 1, 3, 5, 7, 9];
    const decoded = decodeFirstFrame(gifOf(1, 10, order, { isInterlaced: true }));
    expect(shades(decoded.rgba)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('of a file that is cut off is transparent where nothing came', () => {
    const whole = gifOf(
      20,
      20,
      Array.from({ length: 400 }, (_, index) => index % 16),
    );
    const { rgba } = decodeFirstFrame(whole.subarray(0, whole.length - 60));
    expect([rgba[3], rgba.at(-1)]).toEqual([255, 0]);
  });

  it('of any bytes is a picture or a RangeError, soon', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (tail) => {
        const head = gifOf(8, 8, [1]).subarray(0, 13);
        const bytes = Buffer.concat([head, tail]);
        expect(isGif(bytes)).toBe(true);
        try {
          decodeFirstFrame(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
