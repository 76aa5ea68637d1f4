import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { isAvailable, isMissing } from '@wharf/harness';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { withExif } from './support/photo.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();

/** In the page: a picture of one colour, as JPEG in base64. */
const drawJpeg = (hue: number) => `(() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 });
  const context = canvas.getContext('2d');
  context.fillStyle = 'hsl(${hue} 60% 45%)';
  context.fillRect(0, 0, 320, 240);
  return canvas.toDataURL('image/jpeg').split(',')[1];
})()`;

/** A black picture as PNG: of 5,000 pixels a side it has some 3 KB, and 100 MB once a browser has unpacked it. */
function blackPng(width: number, height: number): Buffer {
  const piece = (kind: string, content: Buffer) => {
    const named = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(content.length);
    ends.writeUInt32BE(crc32(named), 4);
    return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height));
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, piece('IHDR', head), piece('IDAT', rows), piece('IEND', Buffer.alloc(0))]);
}

/** Of 10 to the power of `depth` circles; a browser that draws it answers nothing else meanwhile. */
function manyCircles(depth: number): string {
  const groups = Array.from({ length: depth }, (_, at) => `<g id="g${at + 1}">${`<use href="#g${at}"/>`.repeat(10)}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><defs><circle id="g0" r="5"/>${groups.join('')}</defs><use href="#g${depth}"/></svg>`;
}

describe.runIf(isAvailable('chromium', found))('the gallery', () => {
  const browser = found as Browser;
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  /** A folder with a folder, a text and three photos. */
  const openPhotos = async () => {
    const folder = await world.folder('photos');
    const { page, context, said } = await world.open(world.admin.token ?? '', folder.path);
    for (const [index, name] of ['one.jpg', 'three.jpg', 'two.jpg'].entries()) {
      const plain = Buffer.from(String(await page.evaluate(drawJpeg(index * 100))), 'base64');
      await writeFile(join(folder.disk, name), name === 'one.jpg' ? withExif(plain) : plain);
    }
    await writeFile(join(folder.disk, 'zz.bin'), 'no picture');
    await mkdir(join(folder.disk, 'inner'));
    await page.reload();
    await page.getByRole('grid').waitFor();
    return { page, context, said };
  };
  const showGallery = async (page: Page) => {
    await page.getByRole('button', { name: 'Shown as: List' }).press('Enter');
    await page.getByRole('menuitemradio', { name: 'Gallery' }).press('Enter');
    await expect.poll(() => page.locator('.is-gallery .cell-picture img').count()).toBe(3);
  };
  const looked = (page: Page) => page.getByRole('dialog').getByRole('img');

  test('photos stand beside each other, and arrows go from one to the next there and in the viewer', async () => {
    const { page, context, said } = await openPhotos();
    await showGallery(page);
    const boxes = await Promise.all((await page.locator('.is-gallery .cell').all()).map((cell) => cell.boundingBox()));
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    for (const box of boxes) expect(box?.width).toBeCloseTo(box?.height ?? 0, -1);
    await expectAccessible(page);

    await page.getByRole('grid').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('one.jpg');
    await expectAccessible(page);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('three.jpg');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('two.jpg');
    // Behind it is what the page has no view for.
    expect(await page.getByRole('button', { name: 'Next' }).count()).toBe(0);
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('three.jpg');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('row', { selected: true }).getByRole('link').textContent()).toBe('three.jpg');
    await page.reload();
    await page.locator('.is-gallery .cell-picture img').first().waitFor();
    expect(said).toEqual([]);
    await context.close();
  });

  test('the details of a photo say how it was taken, and stay open from one to the next', async () => {
    const { page, context, said } = await openPhotos();
    await page.getByRole('link', { name: 'one.jpg' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Details' }).click();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('3 Jun 2026, 10:15:20').waitFor();
    await details.getByText('Lake One', { exact: true }).waitFor();
    await details.getByText('1/250 s · ƒ/2.8 · ISO 200 · 35 mm').waitFor();
    await details.getByText('47.5, 9.25').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('three.jpg');
    await details.getByText('1/250 s').waitFor({ state: 'detached' });
    await details.getByText('Modified').waitFor();
    await details.getByRole('button', { name: 'Close the details' }).click();
    await details.waitFor({ state: 'detached' });
    expect(said).toEqual([]);
    await context.close();
  });

  test('what a folder shows unasked costs the viewer little: no drawing of somebody, and no picture that is large once it is unpacked', async () => {
    const folder = await world.folder('costly');
    await writeFile(join(folder.disk, 'drawing.svg'), manyCircles(3));
    await writeFile(join(folder.disk, 'huge.png'), blackPng(5_000, 5_000));
    for (const [name, width, height] of [
      ['small.png', 50, 50],
      ['screen.png', 3_840, 2_160],
    ] as const)
      await writeFile(join(folder.disk, name), blackPng(width, height));
    const { page, context, said } = await world.open(world.admin.token ?? '', folder.path);
    const cell = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });
    // A shot of a large screen costs no more than it is worth.
    for (const name of ['small.png', 'screen.png']) await cell(name).getByRole('gridcell').locator('img').waitFor();
    for (const name of ['drawing.svg', 'huge.png']) await expect.poll(() => cell(name).locator('.cell-picture img').count()).toBe(0);
    expect(await cell('huge.png').locator('.cell-picture svg').count()).toBe(1);
    // Who opens it sees it.
    await page.getByRole('link', { name: 'drawing.svg' }).click();
    await expect.poll(() => looked(page).getAttribute('alt')).toBe('drawing.svg');
    expect(said).toEqual([]);
    await context.close();
  });
});
