import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
});
