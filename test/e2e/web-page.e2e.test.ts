import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, isAvailable, isMissing, login, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { pdfOf } from './support/pdf.ts';
import { totpCode } from './support/totp.ts';
import { buildWebPage, expectAccessible, logIn, openTab, watchPage } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

/** What the first look at a folder may cost, in compressed bytes. */
const MAX_SCRIPT_BYTES = 150_000;
const MAX_STYLE_BYTES = 40_000;

/** In the page: how many pixels of what is drawn are dark. */
const DARK_PIXELS = `(() => {
  const canvas = document.querySelector('.pdfViewer canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, index) => index % 4 === 0 && value < 100).length;
})()`;
/** In the page: the colours of the first words of code. */
const WORD_COLOURS = `Object.fromEntries(
  [...document.querySelector('.code-field').shadowRoot.querySelectorAll('.cm-line span')].map((word) => [word.textContent, getComputedStyle(word).color]),
)`;
const CUES = `[...document.querySelectorAll('track')].map(({ track }) => [track.label, ...Array.from(track.cues ?? [], ({ text }) => text)])`;

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the web page', () => {
  const browser = found as Browser;
  let world: World;
  let context: BrowserContext;
  let page: Page;
  let said: readonly string[];

  beforeAll(async () => {
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path } });
  });
  beforeEach(async () => {
    context = await browser.newContext({ locale: 'en-GB', acceptDownloads: true, viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    said = watchPage(page);
  });
  afterEach(async () => {
    expect(said).toEqual([]);
    await context.close();
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  /** A folder with some files, opened by the admin. */
  const openFolder = async (purpose: string, files: Readonly<Record<string, string>> = {}) => {
    const folder = await world.folder(purpose);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder.disk, name, '..'), { recursive: true });
      await writeFile(join(folder.disk, name), text);
    }
    await page.close();
    page = await openTab(context, world.base, world.admin.token ?? '', folder.path);
    said = watchPage(page);
    return folder;
  };
  const grid = () => page.getByRole('grid');
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const names = async () => (await page.locator('.cell-link').allTextContents()).join();

  test('a wrong password is said, the right one opens the files, and logging out leads back', async () => {
    await page.goto(world.base);
    await page.getByLabel('Name').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name').fill('admin');
    await page.getByLabel('Password').fill('not this one');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    await logIn(page, world.base, 'admin', world.wharf.adminPassword);
    await page.getByRole('button', { name: 'admin' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  });

  test('an account with a second step is asked for its code', async () => {
    const name = world.unique('second');
    await world.admin.call('/api/admin/user/create', {
      username: name,
      password: 'a-good-password',
      base_path: '/',
      role: 0,
      permission: 0,
    });
    const own = await login(world.base, name, 'a-good-password');
    const secret = String(at(await own.call('/api/auth/2fa/generate', {}), 'secret'));
    await own.call('/api/auth/2fa/verify', { secret, code: totpCode(secret) });
    await page.goto(world.base);
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Password').fill('a-good-password');
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill('000000');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'does not fit' }).waitFor();
    await page.getByLabel('Code').fill(totpCode(secret, 1));
    await page.keyboard.press('Enter');
    await page.getByRole('grid').waitFor();
  });

  test('folders open and the back button leads back; addresses of folders and files can be opened', async () => {
    const { path } = await openFolder('ways', { 'inner/deep/note.txt': 'a note', 'inner/other.bin': 'x' });
    await row('inner').dblclick();
    await row('deep').getByRole('link').click();
    await row('note.txt').waitFor();
    expect(new URL(page.url()).pathname).toBe(`${path}/inner/deep`);
    await page.goBack();
    await row('other.bin').waitFor();
    await page
      .getByRole('navigation', { name: 'The way here' })
      .getByRole('link', { name: path.slice(7) })
      .click();
    await row('inner').waitFor();
    await page.goto(`${world.base}${path}/inner/deep/note.txt`);
    await page.getByText('a note').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await row('note.txt').waitFor();
    await page.goto(`${world.base}${path}/not/there`);
    await page.getByRole('alert').filter({ hasText: 'There is nothing here' }).waitFor();
  });

  test('by the keyboard alone: a folder is made, renamed, entered, left, and removed', async () => {
    const { disk } = await openFolder('keys', { 'a.txt': 'a', 'b.txt': 'b' });
    await grid().waitFor();
    await expectAccessible(page);
    await page.keyboard.press('F7');
    await page.getByRole('dialog').waitFor();
    await expectAccessible(page);
    await page.keyboard.type('Plans');
    await page.keyboard.press('Enter');
    await row('Plans').waitFor();
    await expect.poll(() => row('Plans').getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('F2');
    await page.getByRole('textbox', { name: 'New name of Plans' }).waitFor();
    await page.keyboard.type('Ideas');
    await page.keyboard.press('Enter');
    await row('Ideas').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('This folder is empty').waitFor();
    await expectAccessible(page);
    await page.goBack();
    await grid().waitFor();
    await page.keyboard.press('b');
    await expect.poll(() => row('b.txt').getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('Shift+ArrowUp');
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete 2 items?' });
    await dialog.waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await expect.poll(names).toBe('Ideas');
    await expect(readFile(join(disk, 'a.txt'))).rejects.toThrow(/ENOENT/);
  });

  test('uploads arrive, show themselves, and ask what becomes of a name that is taken', async () => {
    const { disk } = await openFolder('uploads', { 'taken.txt': 'first' });
    await grid().waitFor();
    const choose = async (files: readonly string[]) => {
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'New', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Upload files' }).click();
      await (await chooser).setFiles(files.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`of ${name}`) })));
    };
    await choose(['one.txt', 'two ü.txt', 'taken.txt']);
    const panel = page.getByRole('region', { name: 'Uploads' });
    await panel.getByText('There is a file of this name already.').waitFor();
    await expectAccessible(page);
    await panel.getByRole('button', { name: 'Keep both' }).click();
    await row('taken (2).txt').waitFor();
    await row('two ü.txt').waitFor();
    expect(await readFile(join(disk, 'two ü.txt'), 'utf8')).toBe('of two ü.txt');
    expect([await readFile(join(disk, 'taken.txt'), 'utf8'), await readFile(join(disk, 'taken (2).txt'), 'utf8')]).toEqual([
      'first',
      'of taken.txt',
    ]);
    await panel.getByRole('button', { name: 'Close' }).click();
    await grid().focus();
    await choose(['taken.txt']);
    await panel.getByRole('button', { name: 'Replace' }).click();
    await expect.poll(() => readFile(join(disk, 'taken.txt'), 'utf8')).toBe('of taken.txt');
  });

  test('what is pasted into a text, or beside a dialog, is no upload', async () => {
    const { disk } = await openFolder('pasted', { 'note.txt': 'a note' });
    await row('note.txt').getByRole('link').click();
    await page.getByRole('button', { name: 'Edit' }).click();
    // As office programs fill the clipboard: a text, and a picture of it.
    const paste = (where: string) =>
      page.evaluate(`(() => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', 'pasted ');
        clipboardData.items.add(new File(['picture'], 'image.png', { type: 'image/png' }));
        return (${where}).dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, composed: true, cancelable: true }));
      })()`);
    await page.locator('.code-field .cm-content').focus();
    await paste("document.querySelector('.code-field').shadowRoot.querySelector('.cm-content')");
    await page.locator('.code-field .cm-content').getByText('pasted').waitFor();
    // Nobody takes it.
    expect(await paste('document.body')).toBe(true);
    await page.keyboard.press('Control+s');
    await expect.poll(() => readFile(join(disk, 'note.txt'), 'utf8')).toBe('pasted a note');
    expect(await page.getByRole('region', { name: 'Uploads' }).count()).toBe(0);
    expect(await readdir(disk)).toEqual(['note.txt']);
  });

  test('several files come from the folder in which they were chosen', async () => {
    await openFolder('downloads', { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'other/b.txt': 'another' });
    const asked: string[] = [];
    page.on('download', (download) => asked.push(new URL(download.url()).pathname.split('/').slice(-2).join('/')));
    await row('a.txt').click();
    await row('c.txt').click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Download' }).first().click();
    await row('other').getByRole('link').click();
    await expect.poll(() => asked.length).toBe(3);
    expect(asked.map((path) => path.split('/')[0])).not.toContain('other');
  });

  test('files are copied by the picker and moved by the clipboard', async () => {
    const { disk } = await openFolder('bring', { 'a.txt': 'a', 'b.txt': 'b', 'into/there.txt': '' });
    await row('a.txt').click();
    await page.getByRole('button', { name: 'Copy to…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy “a.txt”' });
    await dialog.getByRole('button', { name: 'into' }).click();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Copy here' }).click();
    await page.getByText('1 item copied').waitFor();
    expect(await readFile(join(disk, 'into', 'a.txt'), 'utf8')).toBe('a');
    await row('b.txt').click();
    await grid().focus();
    await page.keyboard.press('Control+x');
    await row('into').getByRole('link').click();
    await row('there.txt').waitFor();
    await grid().focus();
    await page.keyboard.press('Control+v');
    await row('b.txt').waitFor();
    expect(await readFile(join(disk, 'into', 'b.txt'), 'utf8')).toBe('b');
    await expect(readFile(join(disk, 'b.txt'))).rejects.toThrow(/ENOENT/);
  });

  test('columns sort, the menu opens by the keyboard, tiles and details show', async () => {
    await openFolder('shown', { 'big.bin': 'x'.repeat(5_000), 'small.txt': 'x', 'middle.md': 'x'.repeat(100) });
    await expect.poll(names).toBe('big.bin,middle.md,small.txt');
    await page.getByRole('button', { name: 'Sort by Size' }).click();
    await expect.poll(names).toBe('big.bin,middle.md,small.txt');
    await page.getByRole('button', { name: 'Sorted by Size, descending' }).click();
    await expect.poll(names).toBe('small.txt,middle.md,big.bin');
    await grid().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menuitem', { name: 'Details' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('menuitem', { name: 'Details' }).click();
    await page.getByRole('complementary', { name: 'Details' }).getByText('1 byte', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Shown as: List' }).click();
    await expectAccessible(page);
    await page.getByRole('menuitemradio', { name: 'Tiles' }).click();
    await expectAccessible(page);
  });

  test('what is typed finds files of the folder, and actions', async () => {
    await openFolder('find', { 'holiday.txt': 'sun', 'work.txt': '' });
    await grid().waitFor();
    await page.keyboard.press('/');
    await page.getByRole('combobox').fill('holi');
    await page.getByRole('option', { name: 'holiday.txt' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByText('sun').waitFor();
    await page.keyboard.press('Escape');
    await grid().focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await expectAccessible(page);
  });

  test('of 12,000 files some hundred elements exist, and the last one is a key away', async () => {
    const folder = await world.folder('many');
    for (let from = 0; from < 12_000; from += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, index) => writeFile(join(folder.disk, `file ${String(from + index).padStart(5, '0')}`), '')),
      );
    await page.close();
    page = await openTab(context, world.base, world.admin.token ?? '', folder.path);
    await row('file 00000').waitFor();
    await page.keyboard.press('End');
    await row('file 11999').waitFor();
    expect(await page.locator('.cell').count()).toBeLessThan(60);
    await page.getByRole('button', { name: 'Sorted by Name, ascending' }).click();
    await page.getByRole('status').filter({ hasText: 'Reading' }).waitFor({ state: 'detached' });
    await grid().focus();
    await page.keyboard.press('Home');
    await row('file 11999').waitFor();
  });

  test('a folder’s password opens it, and what a rule says of it cannot do anything', async () => {
    const folder = await world.folder('guarded');
    await writeFile(join(folder.disk, 'secret.txt'), '');
    const readme =
      '# Welcome\n\n<script>localStorage.setItem("ran", 1)</script><img src=x onerror="localStorage.setItem(\'ran\', 1)"> [a](javascript:alert(1))<style>body{display:none}</style>';
    const rule = { path: folder.path, password: 'sesame', p_sub: true, readme, r_sub: true };
    await world.admin.call('/api/admin/meta/create', rule);
    const name = world.unique('reader');
    await world.admin.call('/api/admin/user/create', {
      username: name,
      password: 'a-good-password',
      base_path: '/',
      role: 0,
      permission: 0,
    });
    await logIn(page, world.base, name, 'a-good-password');
    await page.goto(world.base + folder.path);
    await page.getByText('This folder has a password').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('That password does not open this folder.').waitFor();
    await page.getByLabel('Password').fill('sesame');
    await page.keyboard.press('Enter');
    await row('secret.txt').waitFor();
    await page.getByRole('heading', { name: 'Welcome' }).waitFor();
    const unclean = '.prose script, .prose style, .prose [onerror], .prose [href^="javascript"]';
    expect(await page.evaluate("localStorage.getItem('ran')")).toBeNull();
    expect(await page.locator(unclean).count()).toBe(0);
    await expectAccessible(page);
    // The policy is heard while the text is cleaned, which is as it should be; nothing else is.
    expect(said.filter((text) => !/inline (style|event handler)/.test(text))).toEqual([]);
    said = [];
  });

  test('a text is edited, and nobody else’s save is lost', async () => {
    const { disk } = await openFolder('edited', { 'plan.txt': 'first\r\nline\r\n' });
    const file = join(disk, 'plan.txt');
    const alert = page.getByRole('alert').filter({ hasText: 'Somebody else saved this file' });
    await row('plan.txt').dblclick();
    await page.getByRole('button', { name: 'Edit' }).click();
    const text = page.getByRole('textbox', { name: 'Text of' });
    await text.fill('second\nline\n');
    await expectAccessible(page);
    await page.keyboard.press('Control+s');
    await page.getByText('All is saved').waitFor();
    // Its lines end as they did.
    expect(await readFile(file, 'utf8')).toBe('second\r\nline\r\n');
    await text.fill('third\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('All is saved').waitFor();
    expect(await readFile(file, 'utf8')).toBe('third\r\n');
    await writeFile(file, 'of somebody else');
    await text.fill('mine\n');
    await page.keyboard.press('Control+s');
    await alert.waitFor();
    await expectAccessible(page);
    expect(await readFile(file, 'utf8')).toBe('of somebody else');
    await alert.getByRole('button', { name: 'Save it beside theirs' }).click();
    await page.getByText('plan (2).txt saved').waitFor();
    expect(await readFile(join(disk, 'plan (2).txt'), 'utf8')).toBe('mine\r\n');
    await text.fill('not saved');
    await page.keyboard.press('Escape');
    await page.getByText('Your changes are not saved.').waitFor();
    await page.getByRole('button', { name: 'Discard them' }).click();
    await page.getByText('of somebody else').waitFor();
  });

  test('a PDF is read page by page, with text that can be chosen, and a damaged one says so', async () => {
    await openFolder('papers', { 'paper.pdf': pdfOf(['Hello first page', 'Hello second page']), 'broken.pdf': 'no pages' });
    await row('paper.pdf').dblclick();
    await page.getByText('Page 1 of 2').waitFor();
    await page.locator('.textLayer').getByText('Hello first page').waitFor();
    // Not blank: the letters, in a font that the document does not bring.
    await expect.poll(() => page.evaluate(DARK_PIXELS)).toBeGreaterThan(100);
    await expectAccessible(page);
    await page.locator('.pdf-pages').press('End');
    await page.getByText('Page 2 of 2').waitFor();
    await page.keyboard.press('Escape');
    await row('broken.pdf').dblclick();
    await page.getByText('not a PDF file').waitFor();
  });

  test('code has its colours, and what has no view its bytes', async () => {
    await openFolder('looks', { 'tool.ts': 'export const answer = 42; // all\n', 'raw.xyz': 'bytes \u0000 here' });
    await row('tool.ts').dblclick();
    const code = page.getByRole('textbox', { name: 'Text of' });
    await code.filter({ hasText: 'export const answer' }).waitFor();
    await expect.poll(() => page.evaluate(WORD_COLOURS)).toMatchObject({ const: expect.any(String), 42: expect.any(String) });
    const colours: unknown = await page.evaluate(WORD_COLOURS);
    expect(at(colours, 'const')).not.toBe(at(colours, '42'));
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await row('raw.xyz').dblclick();
    await page.getByRole('button', { name: 'Show its bytes' }).click();
    await page.getByText('00000000  62 79 74 65 73 20 00 20  68 65 72 65').waitFor();
    await expectAccessible(page);
    // The button that was pressed is gone; the keys are still in the dialog.
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('a film has the subtitles that lie beside it', async () => {
    const subtitles = '1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nyou\n';
    await openFolder('films', { 'film.webm': 'no frames', 'film.en.srt': subtitles });
    await row('film.webm').dblclick();
    await expect.poll(() => page.evaluate(CUES)).toEqual([['en', 'Hello', 'you']]);
  });

  test('a download is the file, and its name', async () => {
    await openFolder('download', { 'two words ü.txt': 'the text' });
    await row('two words ü.txt').click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe('two words ü.txt');
    expect(await readFile(await file.path(), 'utf8')).toBe('the text');
  });

  test('dark, Chinese and on a phone it is as accessible', async () => {
    await openFolder('looks', { 'a.txt': 'a', 'inner/b.txt': 'b' });
    await page.emulateMedia({ colorScheme: 'dark' });
    await row('a.txt').click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'admin' }).click();
    await page.getByRole('menuitemradio', { name: '中文' }).click();
    await page.getByRole('button', { name: '新建', exact: true }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 800 });
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await row('inner').getByText('inner').click();
    await row('b.txt').waitFor();
    await page.getByRole('button', { name: '上一级' }).click();
    await row('a.txt').waitFor();
    await expectAccessible(page);
  });

  test('the first look at a folder costs no more than its budget', async () => {
    const sizes = { script: 0, style: 0 };
    const sum = async (path: string) => {
      const bytes = Number(
        (await (await fetch(`${world.base}${path}`, { headers: { 'Accept-Encoding': 'br' } })).headers.get('content-length')) ?? 0,
      );
      if (path.endsWith('.js')) sizes.script += bytes;
      if (path.endsWith('.css')) sizes.style += bytes;
    };
    const asked: string[] = [];
    const folder = await world.folder('budget');
    await writeFile(join(folder.disk, 'a.txt'), 'a');
    await page.close();
    page = await context.newPage();
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.addInitScript((value) => localStorage.setItem('wharf.token', value), world.admin.token ?? '');
    await page.goto(world.base + folder.path);
    await row('a.txt').waitFor();
    for (const path of new Set(asked.filter((each) => each.startsWith('/assets/')))) await sum(path);
    expect(sizes.script).toBeGreaterThan(10_000);
    expect(sizes.script).toBeLessThan(MAX_SCRIPT_BYTES);
    expect(sizes.style).toBeLessThan(MAX_STYLE_BYTES);
  });
});
