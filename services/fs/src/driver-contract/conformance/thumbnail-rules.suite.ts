import { expect } from 'vitest';
import { supports } from '../storage-driver.ts';
import { at, entriesIn, put, refuses } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

/** A PNG of two pixels. */
const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGM4IWcDRAAJDQJF0hJ6mgAAAABJRU5ErkJggg==', 'base64');
/** How PNG, JPEG, GIF and WebP begin. */
const PICTURE_MARKS = ['\x89PNG', '\xff\xd8\xff', 'GIF8', 'RIFF'];
const WANTED = { widthPixels: 144, maxBytes: 1_000_000 };

/** Of pictures that a storage makes of its files. */
export function thumbnailRules(rule: Rule): void {
  rule('an entry says that there is a picture of it only where the storage hands pictures over', ['write'], async (driver) => {
    await put(driver, '/photo.png', PICTURE);
    const told = supports(driver, 'thumbnail') ? true : undefined;
    for (const entry of [await driver.stat(at('/photo.png')), ...(await entriesIn(driver, '/'))]) expect(entry.hasThumbnail).toBe(told);
  });
  rule('the picture of a file is one, and says which file it is of', ['write', 'thumbnail'], async (driver) => {
    await put(driver, '/d/photo ä.png', PICTURE);
    const { entry, image } = await driver.thumbnail(at('/d/photo ä.png'), WANTED);
    expect(entry).toEqual(await driver.stat(at('/d/photo ä.png')));
    const begin = Buffer.from(image).toString('latin1', 0, 4);
    expect(PICTURE_MARKS.filter((mark) => begin.startsWith(mark))).toHaveLength(1);
    expect(image.byteLength).toBeLessThan(WANTED.maxBytes);
  });
  rule('a picture that is larger than wanted is refused', ['write', 'thumbnail'], async (driver) => {
    await put(driver, '/photo.png', PICTURE);
    await refuses('CONTENT_CORRUPT', driver.thumbnail(at('/photo.png'), { ...WANTED, maxBytes: 20 }));
  });
  rule('what has no picture says so', ['write', 'makeDirectory', 'thumbnail'], async (driver) => {
    await put(driver, '/text', 'text');
    await driver.makeDirectory(at('/folder.png'));
    expect((await driver.stat(at('/folder.png'))).hasThumbnail).toBeUndefined();
    await refuses('UNSUPPORTED_OPERATION', driver.thumbnail(at('/text'), WANTED));
    await refuses('IS_A_DIRECTORY', driver.thumbnail(at('/folder.png'), WANTED));
    await refuses('ENTRY_NOT_FOUND', driver.thumbnail(at('/none.png'), WANTED));
    await put(driver, '/photo.png', PICTURE);
    await refuses('CANCELLED', driver.thumbnail(at('/photo.png'), { ...WANTED, signal: AbortSignal.abort() }));
  });
}
