import { describe, expect, it } from 'vitest';
import { qrImage } from './qr-image.ts';
import { totp } from './totp.ts';

describe('a QR image', () => {
  it.each([1, 8, 17, 33, 50, 64])('is a PNG of 400 by 400 pixels for a name of %i characters', async (length) => {
    for (const character of ['a', 'Ü', '😀']) {
      const url = await qrImage(totp.uri(totp.makeSecret(), character.repeat(length)));
      expect(url).toMatch(/^data:image\/png;base64,/);
      const png = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([400, 400]);
    }
  });
});
