import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, login, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { startLosingProxy } from './support/losing-proxy.ts';
import { buildWebPage, expectAccessible, openTab } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the page, where something fails', () => {
  let world: World;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path } });
  });
  beforeEach(async () => {
    context = await (found as Browser).newContext({ locale: 'en-GB', acceptDownloads: true, viewport: { width: 1280, height: 800 } });
  });
  afterEach(() => context.close());
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  /** A folder with a text, opened by an admin whose login is this tab's own. */
  const openFolder = async (purpose: string) => {
    const folder = await world.folder(purpose);
    await writeFile(join(folder.disk, 'note.txt'), 'first');
    const own = await login(world.base, 'admin', world.wharf.adminPassword);
    page = await openTab(context, world.base, own.token ?? '', folder.path);
    await page.getByRole('grid').waitFor();
    const logOut = () => fetch(`${world.base}/api/auth/logout`, { headers: { Authorization: own.token ?? '' } });
    return { ...folder, logOut, token: own.token ?? '' };
  };
  const upload = async (name: string, text = 'a text') => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Upload files' }).click();
    await (await chooser).setFiles([{ name, mimeType: 'text/plain', buffer: Buffer.from(text) }]);
  };
  /** Lets an upload wait until it is told to go on. */
  const holdUploads = async () => {
    const gate = Promise.withResolvers<void>();
    await page.route('**/api/fs/put', async (route) => {
      await gate.promise;
      await route.continue();
    });
    return gate.resolve;
  };
  /** The first answer of an address that ends so is lost once the server has done what it was asked. */
  const loseAnswer = async (address: string, meanwhile: () => Promise<void>) => {
    let isLost = false;
    await page.route(address, async (route) => {
      if (isLost) return await route.continue();
      await route.fetch();
      isLost = true;
      await meanwhile();
      await route.abort();
    });
    return () => isLost;
  };
  const write = async (text: string) => {
    await page.getByRole('link', { name: 'note.txt' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('.code-field .cm-content').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(text);
    await page.getByText('Not saved yet').waitFor();
  };

  test('a server that cannot tell who the viewer is leaves no empty page', async () => {
    page = await context.newPage();
    await page.route('**/api/me', (route) => route.fulfill({ status: 500, contentType: 'text/html', body: '<h1>500</h1>' }));
    await page.goto(world.base);
    await page.getByRole('alert').filter({ hasText: 'could not be reached' }).waitFor();
    await page.unroute('**/api/me');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  });

  test('an address of a file that begins with two slashes shows it', async () => {
    const { path } = await openFolder('slashes');
    await page.goto(`${world.base}/${path}/note.txt`);
    await page.getByRole('dialog').getByText('first').waitFor();
  });

  test.each(['of the page', ''])(
    '%j takes the place of another file once: what was saved after its answer was lost stays',
    async (text) => {
      const { disk } = await openFolder(`lost-answer-${text.length}`);
      const saved = () => writeFile(join(disk, 'note.txt'), 'saved since');
      const panel = page.getByRole('region', { name: 'Uploads' });
      await upload('note.txt', text);
      await panel.getByRole('button', { name: 'Replace' }).waitFor();
      const isLost = await loseAnswer('**/api/fs/put', saved);
      await panel.getByRole('button', { name: 'Replace' }).click();
      await panel.getByText('1 file uploaded').waitFor();
      expect([isLost(), await readFile(join(disk, 'note.txt'), 'utf8')]).toEqual([true, 'saved since']);
    },
  );

  test('what is sent again by the browser itself, as its connection was lost, is done once', async () => {
    const { disk } = await openFolder('sent-again');
    const proxy = await startLosingProxy(world.base, '/api/fs/remove', () => writeFile(join(disk, 'note.txt'), 'stored since'));
    onTestFinished(() => proxy.stop());
    await page.goto(proxy.base + new URL(page.url()).pathname);
    await page.getByRole('row').filter({ hasText: 'note.txt' }).click();
    await page.keyboard.press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => proxy.requests()).toBe(2);
    await page.getByText('note.txt').first().waitFor();
    expect(await readFile(join(disk, 'note.txt'), 'utf8')).toBe('stored since');
  });

  test('where a script cannot be fetched, an upload goes on, and trying again shows what was missing', async () => {
    const { disk } = await openFolder('scripts');
    const goOn = await holdUploads();
    await upload('sent.txt');
    await page.route('**/assets/*', (route) => route.abort());
    await page.getByRole('link', { name: 'note.txt' }).click();
    const failure = page.getByRole('dialog').getByRole('alert').filter({ hasText: 'does not work just now' });
    await failure.waitFor();
    await expectAccessible(page);
    goOn();
    await expect.poll(() => readFile(join(disk, 'sent.txt'), 'utf8').catch(() => '')).toBe('a text');
    // What says so goes with the file, whichever way that is left.
    for (const leave of [() => page.goBack(), () => page.keyboard.press('Escape')]) {
      await leave();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'note.txt' }).click();
      await failure.waitFor();
    }
    await page.unroute('**/assets/*');
    await failure.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('dialog').getByText('first').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'sent.txt' }).waitFor();
  });

  test('what a new Wharf says first, and the texts of another language, keep nobody from the files where they cannot be fetched', async () => {
    const own = await login(world.base, 'admin', world.wharf.adminPassword);
    const other = await (found as Browser).newContext({ locale: 'zh-CN' });
    try {
      await other.route(/assets\/(first-visit|messages-zh).*\.js/, (route) => route.abort());
      page = await openTab(other, world.base, own.token ?? '', '/');
      await page.getByRole('alert').filter({ hasText: 'does not work just now' }).waitFor();
      await page.getByRole('grid').getByRole('link', { name: 'local' }).waitFor();
    } finally {
      await other.close();
    }
  });

  test('where nobody can tell whose the login is that another tab got, what is written stays, and is saved as whoever wrote it', async () => {
    const { path, disk, token } = await openFolder('other-login');
    await write(' and second');
    await page.route('**/api/me', (route) => route.fulfill({ status: 500, contentType: 'text/html', body: '<h1>500</h1>' }));
    const other = await context.newPage();
    await other.goto(world.base + path);
    const { token: next = '' } = await login(world.base, 'admin', world.wharf.adminPassword);
    await other.evaluate(`localStorage.setItem('wharf.token', ${JSON.stringify(next)})`);
    const notice = page.locator('.notice').filter({ hasText: 'does not answer' });
    await notice.waitFor();
    const put = page.waitForRequest('**/api/fs/put');
    await page.keyboard.press('Control+S');
    expect((await put).headers()['authorization']).toBe(token);
    await expect.poll(() => readFile(join(disk, 'note.txt'), 'utf8')).toBe('first and second');
    await page.unroute('**/api/me');
    await page.getByText('All is saved').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    await page.keyboard.press('Escape');
    const [asked] = await Promise.all([page.waitForResponse('**/api/me'), notice.getByRole('button', { name: 'Try again' }).click()]);
    await asked.finished();
    const [listed] = await Promise.all([
      page.waitForRequest('**/api/fs/list'),
      page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'local' }).click(),
    ]);
    expect(listed.headers()['authorization']).toBe(next);
  });

  test('who logs out is logged out at once, and what was on its way goes no further', async () => {
    const { token } = await openFolder('log-out');
    await page.route('**/api/auth/logout', () => undefined);
    await holdUploads();
    const [put] = await Promise.all([page.waitForRequest('**/api/fs/put'), upload('sent.txt')]);
    await page.getByRole('button', { name: 'admin', exact: true }).click();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.headers()['authorization'] === token) sent.push(new URL(request.url()).pathname);
    });
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await expect.poll(() => put.failure()?.errorText).toMatch(/ABORTED/);
    await page.getByLabel('Name').fill('admin');
    await page.getByLabel('Password').fill(world.wharf.adminPassword);
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('grid').waitFor();
    expect(sent).toEqual(['/api/auth/logout']);
  });

  test('what is written outlives its file, that somebody else removed', async () => {
    const { path, disk } = await openFolder('removed');
    const goOn = await holdUploads();
    await upload('sent.txt');
    await write(' and second');
    await rm(join(disk, 'note.txt'));
    await world.admin.call('/api/fs/list', { path, password: '', page: 1, per_page: 0, refresh: true });
    const looked = page.waitForResponse('**/api/fs/list');
    goOn();
    await looked;
    await expect.poll(() => page.getByRole('link', { name: 'sent.txt', includeHidden: true }).count()).toBe(1);
    expect(await page.getByRole('link', { name: 'note.txt', includeHidden: true }).count()).toBe(0);
    await page.getByText('Not saved yet').waitFor();
    await page.keyboard.press('Control+S');
    await page.getByRole('button', { name: 'Save it beside theirs' }).click();
    await expect.poll(() => readFile(join(disk, 'note (2).txt'), 'utf8').catch(() => '')).toBe('first and second');
  });

  test('what is written can be saved as a file after the login has ended', async () => {
    const { path, logOut } = await openFolder('logged-out');
    await write(' and second');
    await logOut();
    // Another tab finds that it has, and forgets it for all.
    const other = await context.newPage();
    await other.goto(world.base + path);
    await other.getByRole('button', { name: 'Log in' }).waitFor();
    await page.getByText('was not saved').waitFor();
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a file' }).click()]);
    expect(saved.suggestedFilename()).toBe('note.txt');
    expect(await readFile(await saved.path(), 'utf8')).toBe('first and second');
  });

  test('what is written can be saved as a file after somebody else has logged in in another tab', async () => {
    const { path } = await openFolder('another-login');
    await write(' and second');
    const username = world.unique('another');
    await world.admin.call('/api/admin/user/create', { username, password: 'another-secret', base_path: '/', role: 0, permission: 0 });
    const { token: next = '' } = await login(world.base, username, 'another-secret');
    const other = await context.newPage();
    await other.goto(world.base + path);
    await other.evaluate(`localStorage.setItem('wharf.token', ${JSON.stringify(next)})`);
    await page.getByText('was not saved').waitFor();
    // The file is shown to whoever is here now, over all else.
    await page.keyboard.press('Escape');
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a file' }).click()]);
    expect(await readFile(await saved.path(), 'utf8')).toBe('first and second');
  });

  test('whoever is told that the login has ended can log in from there', async () => {
    const { logOut } = await openFolder('ended');
    await logOut();
    await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'local' }).click();
    const failure = page.getByRole('alert').filter({ hasText: 'Your login has ended' });
    await failure.getByRole('button', { name: 'Log in' }).click();
    await page.getByLabel('Password').waitFor();
  });
});
