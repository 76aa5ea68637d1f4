import { Transformer } from '@napi-rs/image';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readImageHeader } from './image-header.ts';
import { bombOf, gifOf, pngOf } from './testing/pictures.ts';

const picture = () => new Transformer(pngOf(37, 23));

describe('the header of a picture', () => {
  it.each([
    ['png', () => pngOf(37, 23), 3],
    ['jpeg', () => picture().jpegSync(80), 3],
    ['webp', () => picture().webpSync(80), 4],
    ['webp', () => picture().webpLosslessSync(), 4],
    ['bmp', () => picture().bmpSync(), 4],
    ['tiff', () => picture().tiffSync(), 3],
    ['gif', () => gifOf(37, 23, new Array(37 * 23).fill(1)), 4],
  ] as const)('of %s says its size', (format, make, bytesPerPixel) => {
    expect(readImageHeader(make())).toEqual({ format, width: 37, height: 23, bytesPerPixel });
  });

  it('of an icon is that of the largest picture in it, by what that says itself', () => {
    const inner = bombOf(60_000, 60_000);
    const index = Buffer.alloc(22);
    index.writeUInt16LE(1, 2);
    index.writeUInt16LE(1, 4);
    index.writeUInt8(16, 6);
    index.writeUInt8(16, 7);
    index.writeUInt32LE(inner.length, 14);
    index.writeUInt32LE(22, 18);
    expect(readImageHeader(Buffer.concat([index, inner]))).toMatchObject({ format: 'ico', width: 60_000, height: 60_000 });
  });

  it('of a file that is cut off, empty or something else is none', () => {
    for (const bytes of [Buffer.alloc(0), pngOf(5, 5).subarray(0, 20), Buffer.from('<svg/>'), Buffer.from('\xff\xd8\xff', 'latin1')])
      expect(readImageHeader(bytes)).toBeUndefined();
  });

  it('of a JPEG is looked for among a bounded number of bytes between its segments (C18)', () => {
    const jpeg = picture().jpegSync(80);
    const filled = (length: number) => Buffer.concat([jpeg.subarray(0, 2), Buffer.alloc(length, 0xff), jpeg.subarray(2)]);
    expect(readImageHeader(filled(1_000))).toEqual(readImageHeader(jpeg));
    expect(readImageHeader(filled(10_000))).toBeUndefined();
  });

  it('is found, or not, in any bytes behind any beginning', () => {
    const beginnings = [
      pngOf(1, 1).subarray(0, 12),
      picture().jpegSync(80).subarray(0, 4),
      Buffer.from('II*\0'),
      Buffer.from([0, 0, 1, 0]),
      Buffer.from('BM'),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 200 }), (beginning, rest) => {
        const header = readImageHeader(Buffer.concat([beginning, rest]));
        if (header) expect(header.width * header.height).toBeGreaterThan(0);
      }),
    );
  });
});
