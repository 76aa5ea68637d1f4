// `node test/e2e/src/take-pictures.ts [folder]`: pictures of the web page from a Wharf with a sample tree, in light, dark and on a phone.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, startStandalone } from '@wharf/harness';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../support/browser.ts';
import { writeSampleTree } from '../support/sample-tree.ts';
import { buildWebPage, logIn } from '../support/web-page.ts';

const folder = process.argv[2] ?? join(import.meta.dirname, '..', '..', '..', 'docs', 'images');
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1200, height: 750 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1200, height: 750 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

async function takeAll(browser: Browser, { name, ...options }: (typeof LOOKS)[number]): Promise<void> {
  const context = await browser.newContext({ ...options, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const take = async (what: string) => {
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(folder, `${what}-${name}.png`) });
  };
  await page.goto(wharf.base);
  await page.getByLabel('Password').waitFor();
  await take('login');
  await logIn(page, wharf.base, 'admin', wharf.adminPassword);
  for (const [what, path, show] of PAGES) {
    await page.goto(`${wharf.base}${path}`);
    await page.getByRole('grid').or(page.getByRole('dialog')).first().waitFor();
    if (await show(page, name === 'phone')) await take(what);
  }
  await context.close();
}

type Show = (page: Page, isPhone: boolean) => Promise<boolean>;
const here: Show = async () => true;
const choose = async (page: Page) => {
  await page.getByRole('grid').focus();
  for (const key of ['End', 'Shift+ArrowUp', 'Shift+ArrowUp']) await page.keyboard.press(key);
};
const open =
  (key: string, role: 'dialog' | 'menu'): Show =>
  async (page, isPhone) => {
    if (isPhone) return false;
    await choose(page);
    await page.keyboard.press(key);
    await page.getByRole(role).waitFor();
    return true;
  };

/** What is shown, where, and what brings it there; a page that answers false has none of its own. */
const PAGES: readonly (readonly [string, string, Show])[] = [
  ['files', '/local', here],
  [
    'tiles',
    '/local/Summer/Photos',
    async (page) => {
      await page.getByRole('button', { name: 'Show as tiles' }).click();
      return true;
    },
  ],
  [
    'chosen',
    '/local',
    async (page) => {
      await page.getByRole('button', { name: /^Show as/ }).click();
      await choose(page);
      return true;
    },
  ],
  ['menu', '/local', open('Shift+F10', 'menu')],
  ['delete', '/local', open('Delete', 'dialog')],
  ['shortcuts', '/local', open('?', 'dialog')],
  [
    'find',
    '/local/Summer/Photos',
    async (page, isPhone) => {
      if (isPhone) return false;
      await page.keyboard.press('/');
      await page.getByRole('combobox').fill('21');
      await page.getByRole('option').first().waitFor();
      return true;
    },
  ],
  [
    'move',
    '/local',
    async (page) => {
      await choose(page);
      await page.getByRole('button', { name: 'Move to…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Backups' }).waitFor();
      return true;
    },
  ],
  [
    'details',
    '/local/Summer/Photos/IMG_2114.png',
    async (page, isPhone) => {
      if (isPhone) return false;
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Details' }).click();
      await page.getByRole('complementary', { name: 'Details' }).getByText('Modified').waitFor();
      return true;
    },
  ],
  [
    'image',
    '/local/Summer/Photos/IMG_2114.png',
    async (page) => {
      await page.getByRole('img', { name: 'IMG_2114.png' }).waitFor();
      return true;
    },
  ],
  [
    'markdown',
    '/local/Summer/Plan.md',
    async (page) => {
      await page.getByRole('heading', { name: 'Summer at the lake' }).waitFor();
      return true;
    },
  ],
];

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
if (isMissing(browser)) throw new Error(browser.missing);
const built = await buildWebPage();
const wharf = await startStandalone({ env: { WHARF_WEB_DIR: built.path, TZ: 'UTC' } });
try {
  writeSampleTree(wharf.filesDir);
  for (const look of LOOKS) await takeAll(browser, look);
} finally {
  await browser.close();
  await wharf.stop();
  await built.remove();
}
