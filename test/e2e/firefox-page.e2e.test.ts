import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, makeTempDir, startStandalone } from '@wharf/harness';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFinder, openFirefox, watchFirefox } from './support/firefox.ts';
import { isShown, storeHostileFiles } from './support/hostile-files.ts';
import { buildWebPage } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

const downloads = await makeTempDir('firefox');
const found = await openFirefox(downloads.path);

describe.runIf(isAvailable('firefox-esr', found))('the page in Firefox', () => {
  let world: World;
  let page: Page;
  let said: readonly string[];
  let find: ReturnType<typeof createFinder>;

  beforeAll(async () => {
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path } });
    page = await (found as Browser).newPage();
    await page.setViewport({ width: 1280, height: 800 });
    said = watchFirefox(page);
    find = createFinder(page);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
    await downloads.remove();
  });

  const text = (...path: readonly string[]) => readFile(join(...path), 'utf8').catch(() => 'not there');

  test('the ten commonest jobs are done', { timeout: 300_000 }, async () => {
    const { path, disk } = await world.folder('firefox');
    await writeFile(join(disk, 'alpha.txt'), 'the alpha text');
    await writeFile(join(disk, 'beta.txt'), 'the beta text');
    await mkdir(join(disk, 'gamma', 'deep'), { recursive: true });

    // To log in.
    await page.goto(world.base + path);
    await find.field('Name').fill('admin');
    await find.field('Password').fill(world.wharf.adminPassword);
    await page.keyboard.press('Enter');
    await find.row('alpha.txt').wait();

    // To open a folder and to go back.
    await find.link('gamma').click();
    await find.row('deep').wait();
    await page.goBack();
    await find.row('beta.txt').wait();

    // To open a file, and to change it.
    await find.link('alpha.txt').click();
    await find.text('the alpha text').wait();
    await find.button('Edit').click();
    await page.locator('.code-field >>> .cm-content').click();
    await page.keyboard.type('new ');
    await page.keyboard.down('Control');
    await page.keyboard.press('s');
    await page.keyboard.up('Control');
    await find.text('All is saved').wait();
    await expect.poll(() => text(disk, 'alpha.txt')).toContain('new ');
    await page.keyboard.press('Escape');
    await find.button('Edit').wait();
    await find.button('Close').click();
    await page.waitForSelector('[role="dialog"]', { hidden: true });

    // To upload.
    const sent = join(world.outside, 'sent ü.txt');
    await writeFile(sent, 'sent');
    await page.focus('[role="grid"]');
    const [chooser] = await Promise.all([page.waitForFileChooser(), page.keyboard.press('+')]);
    await chooser.accept([sent]);
    await find.row('sent ü.txt').wait();
    expect(await text(disk, 'sent ü.txt')).toBe('sent');

    // To download.
    await find.row('sent ü.txt').click();
    await find.button('Download').click();
    await expect.poll(() => text(downloads.path, 'sent ü.txt')).toBe('sent');

    // To make a folder.
    await find.button('Select nothing').click();
    await find.button('New').click();
    await find.menuItem('New folder').click();
    await find.field('Name').fill('made');
    await page.keyboard.press('Enter');
    await find.row('made').wait();

    // To rename.
    await find.row('sent ü.txt').click();
    await page.keyboard.press('F2');
    await page.waitForSelector('.name-field');
    await page.keyboard.type('renamed');
    await page.keyboard.press('Enter');
    await find.row('renamed.txt').wait();

    // To move, by the clipboard.
    await page.focus('[role="grid"]');
    await page.keyboard.down('Control');
    await page.keyboard.press('x');
    await page.keyboard.up('Control');
    await find.link('made').click();
    await find.text('This folder is empty').wait();
    await page.keyboard.down('Control');
    await page.keyboard.press('v');
    await page.keyboard.up('Control');
    await find.row('renamed.txt').wait();
    expect(await text(disk, 'made', 'renamed.txt')).toBe('sent');
    await page.goBack();

    // To copy, by the picker.
    await find.row('beta.txt').click();
    await find.button('Copy to…').click();
    await find.dialogButton('gamma').click();
    await find.dialogButton('Copy here').click();
    await expect.poll(() => text(disk, 'gamma', 'beta.txt')).toBe('the beta text');
    await page.waitForSelector('[role="dialog"]', { hidden: true });

    // To search.
    await page.focus('[role="grid"]');
    await page.keyboard.press('/');
    await page.locator('[role="combobox"]').fill('alph');
    await page.waitForSelector('::-p-xpath(//*[@role="option"][contains(., "alpha.txt")])');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[role="dialog"]', { hidden: true });

    // To delete.
    await find.row('beta.txt').click();
    await page.keyboard.press('Delete');
    await find.dialogButton('Delete').click();
    await find.gone('beta.txt');
    expect(await text(disk, 'beta.txt')).toBe('not there');

    // To log out.
    await find.button('admin').click();
    await find.menuItem('Log out').click();
    await find.button('Log in').wait();
    expect(said).toEqual([]);
  });

  test('files and names of somebody else are shown without a script having run (C10)', { timeout: 300_000 }, async () => {
    const { path } = await world.folder('hostile');
    const { names, beacons } = await storeHostileFiles(world, path);
    // A page of the site without scripts, which would take the login for one that has ended.
    await page.goto(`${world.base}/ping`);
    await page.evaluate((token) => localStorage.setItem('wharf.token', token), world.admin.token ?? '');
    for (const name of names) {
      await page.goto(`${world.base}${path}/${encodeURIComponent(name)}`);
      await page.waitForFunction(isShown(name));
    }
    await find.text('*a_*a_').wait();
    expect(await page.evaluate(() => localStorage.getItem('ran'))).toBeNull();
    expect(beacons).toEqual([]);
    // The policy is heard while a text is cleaned, and for nothing else.
    expect(said.filter((text) => !/inline (style|event handler)|style-src-attr|script-src-attr/.test(text))).toEqual([]);
  });
});
