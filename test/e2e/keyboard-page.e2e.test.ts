import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { watchPage } from './support/web-page.ts';

const found = await openBrowser();

/** In the page: what has the keys, by its role or element and its name; and whether it can be seen that it has them. */
const FOCUSED = `(() => {
  const has = document.activeElement;
  const style = getComputedStyle(has);
  const row = has.getAttribute('role') === 'grid' ? has.querySelector('.is-active') : null;
  const isOutlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const isHighlighted = has.matches('[data-highlighted]') || (row !== null && getComputedStyle(row).boxShadow !== 'none');
  const label = has.labels?.[0]?.textContent ?? '';
  return {
    what: has.getAttribute('role') ?? has.localName,
    name: (has.getAttribute('aria-label') ?? (label || has.textContent)).trim(),
    isSeen: isOutlined || isHighlighted,
  };
})()`;
const MANY_STOPS = 60;

describe.runIf(isAvailable('chromium', found))('without a mouse', () => {
  const browser = found as Browser;
  let world: PageWorld;
  let context: BrowserContext;
  let page: Page;
  let said: readonly string[];

  beforeAll(async () => {
    world = await openPageWorld(browser);
    context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    said = watchPage(page);
    page.on('filechooser', (chooser) => void chooser.setFiles([{ name: 'sent.txt', mimeType: 'text/plain', buffer: Buffer.from('sent') }]));
  });
  afterAll(async () => {
    await context?.close();
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  const focused = () => page.evaluate(FOCUSED) as Promise<{ what: string; name: string; isSeen: boolean }>;
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Goes on by Tab until something has the keys; each stop on the way has to show that it has them. */
  const tabTo = async (what: string, name: string | RegExp, key = 'Tab') => {
    const passed: string[] = [];
    for (let stop = 0; stop < MANY_STOPS; stop += 1) {
      await page.keyboard.press(key);
      const now = await focused();
      if (now.what !== 'body') expect(now, 'what has the keys shows it').toMatchObject({ isSeen: true });
      if (now.what === what && (typeof name === 'string' ? now.name === name : name.test(now.name))) return;
      passed.push(`${now.what} ${now.name}`);
    }
    throw new Error(`no Tab led to ${what} ${name}, only to ${passed.join(', ')}`);
  };
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const isChosen = (name: string) => expect.poll(() => row(name).getAttribute('aria-selected')).toBe('true');
  /** The list of files has the keys, and shows it. */
  const keysInFiles = () => expect.poll(focused).toMatchObject({ what: 'grid', isSeen: true });
  const chooseByLetters = async (name: string) => {
    // Letters that follow each other are one word; Home begins anew, and what is chosen tells when they were one.
    await press('Escape', 'Home');
    for (let index = 0; index < MANY_STOPS && (await row(name).getAttribute('aria-selected')) !== 'true'; index += 1)
      await press('ArrowDown');
    await isChosen(name);
  };

  test('the ten commonest jobs are done, and each leaves the keys where one goes on', async () => {
    const { path, disk } = await world.folder('keyboard');
    await writeFile(join(disk, 'alpha.txt'), 'the alpha text');
    await writeFile(join(disk, 'beta.txt'), 'the beta text');
    await mkdir(join(disk, 'gamma', 'deep'), { recursive: true });

    // To log in.
    await page.goto(world.base + path);
    await expect.poll(focused).toMatchObject({ what: 'input', name: 'Name', isSeen: true });
    await page.keyboard.type('admin');
    await tabTo('input', 'Password');
    await page.keyboard.type(world.wharf.adminPassword);
    await press('Enter');
    await row('alpha.txt').waitFor();
    await keysInFiles();

    // To open a folder, an empty one too, and to go up again.
    await chooseByLetters('gamma');
    await press('Enter');
    await row('deep').waitFor();
    await press('ArrowDown', 'Enter');
    await page.getByText('This folder is empty').waitFor();
    await expect.poll(focused).toMatchObject({ what: 'main', isSeen: true });
    await press('Backspace');
    await row('deep').waitFor();
    await press('Backspace');
    await row('alpha.txt').waitFor();

    // To open a file.
    await chooseByLetters('alpha.txt');
    await press('Enter');
    await page.getByText('the alpha text').waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keysInFiles();

    // To upload.
    await press('+');
    await row('sent.txt').waitFor();
    expect(await readFile(join(disk, 'sent.txt'), 'utf8')).toBe('sent');
    await tabTo('button', 'Close');
    await press('Enter');
    await page.getByRole('region', { name: 'Uploads' }).waitFor({ state: 'detached' });
    await keysInFiles();

    // To make a folder, also in an empty one.
    await press('F7');
    await expect.poll(focused).toMatchObject({ what: 'input', name: 'Name' });
    await page.keyboard.type('made');
    await press('Enter');
    await isChosen('made');
    await keysInFiles();
    await press('Enter');
    await page.getByText('This folder is empty').waitFor();
    await expect.poll(focused).toMatchObject({ what: 'main' });
    await press('F7');
    await expect.poll(focused).toMatchObject({ what: 'input', name: 'Name' });
    await page.keyboard.type('inside');
    await press('Enter');
    await isChosen('inside');
    await keysInFiles();
    await press('Backspace');
    await row('alpha.txt').waitFor();

    // To rename.
    await chooseByLetters('sent.txt');
    await press('F2');
    await expect.poll(focused).toMatchObject({ what: 'input', name: 'New name of sent.txt' });
    await page.keyboard.type('renamed');
    await press('Enter');
    await isChosen('renamed.txt');
    await keysInFiles();

    // To move, by the clipboard.
    await press('Control+x');
    await chooseByLetters('made');
    await press('Enter');
    await row('inside').waitFor();
    await press('Control+v');
    await row('renamed.txt').waitFor();
    expect(await readFile(join(disk, 'made', 'renamed.txt'), 'utf8')).toBe('sent');
    await keysInFiles();
    await press('Backspace');
    await row('beta.txt').waitFor();

    // To copy, by the menu and the picker, two folders down.
    await chooseByLetters('beta.txt');
    await press('Shift+F10');
    await page.getByRole('menu').waitFor();
    for (let step = 0; step < MANY_STOPS && (await focused()).name !== 'Copy to…'; step += 1) await press('ArrowDown');
    await press('Enter');
    await page.getByRole('dialog', { name: 'Copy “beta.txt”' }).waitFor();
    await tabTo('button', 'gamma');
    await press('Enter');
    await expect.poll(focused).toMatchObject({ what: 'button', name: 'deep', isSeen: true });
    await press('Enter');
    await expect.poll(focused).toMatchObject({ what: 'button', name: 'Copy here', isSeen: true });
    await press('Enter');
    await page.getByText('1 item copied').waitFor();
    expect(await readFile(join(disk, 'gamma', 'deep', 'beta.txt'), 'utf8')).toBe('the beta text');
    await keysInFiles();

    // To delete.
    await chooseByLetters('beta.txt');
    await press('Delete');
    await page.getByRole('dialog', { name: 'Delete “beta.txt”?' }).waitFor();
    await tabTo('button', 'Delete');
    await press('Enter');
    await page.getByText('1 item deleted').waitFor();
    await expect(readFile(join(disk, 'beta.txt'))).rejects.toThrow(/ENOENT/);
    await keysInFiles();

    // To search.
    await press('/');
    await expect.poll(focused).toMatchObject({ what: 'combobox' });
    await page.keyboard.type('alph');
    await page.getByRole('option', { name: 'alpha.txt' }).waitFor();
    await press('Enter');
    await page.getByText('the alpha text').waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keysInFiles();

    // The details give the keys back.
    await press('Alt+Enter');
    await tabTo('button', 'Close the details');
    await press('Enter');
    await expect.poll(focused).toMatchObject({ what: 'button', name: 'Details', isSeen: true });

    // To log out.
    await tabTo('button', 'admin', 'Shift+Tab');
    await press('Enter');
    await page.getByRole('menu').waitFor();
    for (let step = 0; step < MANY_STOPS && (await focused()).name !== 'Log out'; step += 1) await press('ArrowDown');
    await press('Enter');
    await expect.poll(focused).toMatchObject({ what: 'input', name: 'Name', isSeen: true });
    expect(said).toEqual([]);
  });
});
