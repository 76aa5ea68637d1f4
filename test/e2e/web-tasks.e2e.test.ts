import { createHash } from 'node:crypto';
import { type HttpServer, isAvailable, isMissing, startHttpServer, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { buildWebPage, expectAccessible, openTab, watchPage } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

const WITHIN_MS = 240_000;
/** The part `info` of a torrent of one file of five bytes. */
const INFO = 'd6:lengthi5e4:name5:a.txt12:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaae';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('tasks in the web page', () => {
  const browser = found as Browser;
  let world: World;
  let source: HttpServer;
  let context: BrowserContext;
  let page: Page;
  let said: readonly string[];

  beforeAll(async () => {
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path, WHARF_EGRESS_ALLOW: '127.0.0.1' } });
    // Begins every file and ends none; some are not there.
    source = await startHttpServer(({ url, method }, response) => {
      if (url === '/missing.iso') return void response.writeHead(404).end();
      response.writeHead(200, { 'Content-Length': 1_000_000 });
      if (method === 'HEAD') response.end();
      else response.write(Buffer.alloc(250_000));
    });
  }, WITHIN_MS);
  beforeEach(async () => {
    context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    const folder = await world.folder('tasks');
    page = await openTab(context, world.base, world.admin.token ?? '', folder.path);
    page.setDefaultTimeout(WITHIN_MS);
    said = watchPage(page);
  });
  afterEach(async () => {
    await context.close();
    expect(said).toEqual([]);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await source?.stop();
    await world?.close();
  });

  const dialog = (name: string) => page.getByRole('dialog', { name });
  const askForDownload = async () => {
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Download from the network' }).click();
    return dialog('Download from the network');
  };

  test('downloads are queued, seen as they go, paused, resumed and cancelled; one that failed says why', {
    timeout: WITHIN_MS,
  }, async () => {
    const form = await askForDownload();
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Download', exact: true }).click();
    await form.getByText('Enter an address.').waitFor();
    await form.getByLabel('Addresses').fill(`${source.url}/first.iso\n${source.url}/missing.iso`);
    await form.getByRole('button', { name: 'Download 2' }).click();
    const tasks = dialog('Tasks');
    await tasks.getByText('Download first.iso').waitFor();
    const failed = tasks.getByRole('region', { name: 'Failed' });
    await failed.getByText('Download missing.iso').waitFor();
    await expect.poll(() => failed.locator('.problem').textContent()).not.toBe('');
    await expectAccessible(page);
    // Its row stays while its task changes, and the focus with it.
    await tasks.getByRole('button', { name: 'Pause first.iso' }).press('Enter');
    await tasks.getByText('Paused', { exact: false }).waitFor();
    await tasks.getByRole('button', { name: 'Resume first.iso' }).press('Enter');
    await tasks.getByRole('button', { name: 'Pause first.iso' }).waitFor();
    await tasks.getByRole('button', { name: 'Cancel first.iso' }).press('Enter');
    await tasks.getByText('Cancelled').waitFor();
    await failed.getByRole('button', { name: 'Clear' }).click();
    await failed.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await tasks.waitFor({ state: 'detached' });
  });

  test('the number of those that run stands beside the tasks', { timeout: WITHIN_MS }, async () => {
    const path = decodeURIComponent(new URL(page.url()).pathname);
    await world.admin.call('/api/fs/add_offline_download', {
      ...{ urls: [`${source.url}/second.iso`], path, tool: 'SimpleHttp' },
      delete_policy: 'delete_always',
    });
    const button = page.getByRole('button', { name: /^Tasks\s*1\s*Running$/ });
    await button.waitFor();
    await expectAccessible(page);
    await button.click();
    await dialog('Tasks').getByRole('button', { name: 'Cancel second.iso' }).click();
    await dialog('Tasks').getByText('Cancelled').first().waitFor();
  });

  test('a torrent becomes its magnet link', { timeout: WITHIN_MS }, async () => {
    const form = await askForDownload();
    const chooser = page.waitForEvent('filechooser');
    await form.getByRole('button', { name: 'From a torrent or metalink file' }).click();
    const torrent = Buffer.from(`d8:announce13:http://one/an4:info${INFO}e`);
    await (await chooser).setFiles([{ name: 'a.torrent', mimeType: 'application/x-bittorrent', buffer: torrent }]);
    const hash = createHash('sha1').update(INFO).digest('hex');
    await expect.poll(() => form.getByLabel('Addresses').inputValue()).toContain(`magnet:?xt=urn:btih:${hash}&dn=a.txt`);
  });
});
