// `node test/e2e/src/take-pictures.ts [folder [name...]]`: pictures of the web page from a Wharf with a sample tree, in light, dark and on a phone.
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, login, startStandalone, waitFor } from '@wharf/harness';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../support/browser.ts';
import { writeSamplePeople } from '../support/sample-people.ts';
import { writeSampleTree } from '../support/sample-tree.ts';
import { buildWebPage } from '../support/web-page.ts';

const folder = process.argv[2] ?? join(import.meta.dirname, '..', '..', '..', 'docs', 'images');
/** Only these; none named: all. */
const WANTED = process.argv.slice(3);
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1200, height: 750 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1200, height: 750 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

/** In the page: everything that is waited for has come. The network is never idle: the page hears of tasks. */
const ALL_THERE = `document.querySelector('.spinner, .is-awaited') === null && [...document.images].every((image) => image.complete) && document.fonts.status === 'loaded'`;

async function takeAll(browser: Browser, { name, ...options }: (typeof LOOKS)[number]): Promise<void> {
  const context = await browser.newContext({ ...options, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  const take = async (what: string) => {
    // Nothing is pointed at.
    await page.mouse.move(0, 0);
    await waitFor('everything to be shown', () => page.evaluate(ALL_THERE), { withinMs: 30_000 });
    // A quarter of what PNG takes; Playwright itself writes none.
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
    await writeFile(join(folder, `${what}-${name}.webp`), data, 'base64');
  };
  await page.addInitScript((value) => localStorage.setItem('wharf.token', value), admin.token ?? '');
  for (const [what, path, show] of PAGES) {
    if (WANTED.length > 0 && !WANTED.includes(what)) continue;
    await page.goto(`${wharf.base}${path}`);
    await page.locator('main, [role="dialog"]').first().waitFor();
    await show(page, name === 'phone');
    await take(what);
    await page.evaluate("for (const choice of ['wharf.details', 'wharf.group']) localStorage.removeItem(choice)");
  }
  await context.close();
}

type Show = (page: Page, isPhone: boolean) => Promise<unknown>;
const showAs = async (page: Page, layout: 'List' | 'Gallery' | 'Month of change') => {
  await page.getByRole('button', { name: /^Shown as/ }).click();
  await page.getByRole('menuitemradio', { name: layout }).click();
};
const choose = async (page: Page) => {
  await page.getByRole('grid').focus();
  for (const key of ['End', 'Shift+ArrowUp', 'Shift+ArrowUp']) await page.keyboard.press(key);
};

/** Opens a dialog of a page beside the files. */
const openDialog =
  (button: string, then: (page: Page) => Promise<unknown>): Show =>
  async (page) => {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('dialog').waitFor();
    await then(page);
  };

/** What is shown, where, and what brings it there. */
const PAGES: readonly (readonly [string, string, Show])[] = [
  ['files', '/local', (page) => showAs(page, 'List')],
  [
    'gallery',
    '/local/Summer/Photos',
    async (page) => {
      await showAs(page, 'Gallery');
      await showAs(page, 'Month of change');
    },
  ],
  [
    'chosen',
    '/local',
    async (page) => {
      await showAs(page, 'List');
      await choose(page);
    },
  ],
  [
    'find',
    '/local/Summer/Photos',
    async (page) => {
      await page.getByRole('grid').focus();
      await page.keyboard.press('/');
      await page.getByRole('combobox').fill('21');
      await page.getByRole('option').first().waitFor();
    },
  ],
  [
    'rename',
    '/local/Summer/Photos',
    async (page) => {
      await choose(page);
      await page.keyboard.press('F2');
      await page.getByLabel('Replace by').fill('Lake {nn}');
      await page.getByText('Lake 03.png').waitFor();
    },
  ],
  [
    'image',
    '/local/Summer/Photos/IMG_2114.png',
    async (page, isPhone) => {
      await page.getByRole('img', { name: 'IMG_2114.png' }).waitFor();
      if (isPhone) return;
      await page.getByRole('button', { name: 'Details' }).click();
      await page.getByText('is the admin').waitFor();
    },
  ],
  [
    'code',
    '/local/Projects/gateway/server.ts',
    async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.locator('.code-field .cm-content').click();
      await page.keyboard.type('// Anybody may call.');
      await page.getByText('Not saved yet').waitFor();
    },
  ],
  ['welcome', '/', (page) => page.getByText('Welcome aboard').waitFor()],
  ['overview', '/@admin', (page) => page.getByText('All answer').waitFor()],
  [
    'storage',
    '/@admin/storages',
    openDialog('Add a storage', async (page) => {
      await page.getByRole('button', { name: 'Local' }).click();
      await page.getByLabel('Where it appears').fill('/photos');
      const field = page.getByLabel('Folder', { exact: true });
      await field.fill(join(wharf.filesDir, 'Summer'));
      await page.getByRole('button', { name: 'Try it' }).click();
      await page.getByText('It works.').waitFor();
      // What is tried lies somewhere on this machine, which is of no use to those who look at the picture.
      await field.focus();
      await page.evaluate("document.activeElement.value = '/srv/photos'");
      await page.evaluate('document.activeElement.blur()');
    }),
  ],
  ['people', '/@admin/users', (page) => page.getByText('Jonas').first().waitFor()],
  [
    'rule',
    '/@admin/rules',
    openDialog('Edit /local/Projects', (page) => page.getByRole('dialog').getByRole('table').scrollIntoViewIfNeeded()),
  ],
];

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
if (isMissing(browser)) throw new Error(browser.missing);
const built = await buildWebPage();
const wharf = await startStandalone({ env: { WHARF_WEB_DIR: built.path, TZ: 'UTC' } });
const admin = await login(wharf.base, 'admin', wharf.adminPassword);
try {
  writeSampleTree(wharf.filesDir);
  await writeSamplePeople(admin);
  for (const look of LOOKS) await takeAll(browser, look);
} finally {
  await browser.close();
  await wharf.stop();
}
