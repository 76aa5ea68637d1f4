import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isAvailable, isMissing, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { put, rawPath } from './support/files.ts';
import { hostileFiles } from './support/hostile-files.ts';
import { buildWebPage, openTab, watchPage } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

/** Runs in the page: puts each address into everything that shows files, and waits until it is there. */
const EMBED_ALL = `async (addresses) => {
  for (const address of addresses)
    for (const [tag, attribute] of [['iframe', 'src'], ['embed', 'src'], ['object', 'data'], ['img', 'src']]) {
      const element = document.createElement(tag);
      const done = new Promise((resolve) => {
        element.addEventListener('load', resolve);
        element.addEventListener('error', resolve);
        setTimeout(resolve, 100);
      });
      element.setAttribute(attribute, address);
      document.body.append(element);
      await done;
    }
}`;

const found = await openBrowser();
const isThere = isAvailable('chromium', found);

describe.runIf(isThere)('in a browser (C10, C22)', () => {
  const browser = found as Browser;
  /** Pages of another origin, and the address that scripts call when they run. */
  const elsewhere = createServer((request, response) => {
    if (request.url?.startsWith('/beacon')) beacons.push(request.url);
    response
      .writeHead(200, { 'Content-Type': 'text/html', 'Access-Control-Allow-Origin': '*' })
      .end('<!doctype html><title>elsewhere</title>');
  });
  const beacons: string[] = [];
  let world: World;
  let context: BrowserContext;
  let page: Page;
  let origin = '';
  let friend = '';

  beforeAll(async () => {
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    origin = `http://127.0.0.1:${port}`;
    // The same server under another name: an origin that may call the API.
    friend = `http://localhost:${port}`;
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_CORS_ORIGINS: friend, WHARF_WEB_DIR: built.path } });
    context = await browser.newContext({ acceptDownloads: true });
  });
  beforeEach(async () => {
    beacons.length = 0;
    await page?.close();
    page = await context.newPage();
  });
  afterAll(async () => {
    await context?.close();
    if (!isMissing(found)) await found.close();
    await world?.close();
    elsewhere.close();
  });

  /** Whether any script ran in our origin or called home. */
  const traces = async () => {
    const own = await context.newPage();
    await own.goto(`${world.base}/ping`);
    const ran = await own.evaluate(() => localStorage.getItem('ran'));
    await own.close();
    return { beacons, ran };
  };
  /** The page has had its time when a beacon of ours, sent after it, has come. */
  const settle = async () => {
    const own = await context.newPage();
    await own.goto(`${origin}/beacon?own`);
    await own.close();
    await expect.poll(() => beacons).toContain('/beacon?own');
    beacons.splice(beacons.indexOf('/beacon?own'), 1);
  };

  test('no script of a stored file runs in our origin: opened, framed, or without its disposition', async () => {
    const { path } = await world.folder('hostile');
    const files = hostileFiles(`${origin}/beacon`);
    const links: string[] = [];
    for (const { name, content } of files) {
      await put(world.admin, world.base, `${path}/${name}`, content);
      links.push(await rawPath(world.admin, `${path}/${name}`));
    }
    const addresses = links.flatMap((link) => [link, link.replace('/p/', '/d/'), `${link}&type=thumb`, `${link}&type=text/html&raw=1`]);

    for (const address of addresses) await page.goto(`${world.base}${address}`).catch(() => undefined);
    expect(await traces()).toEqual({ beacons: [], ran: null });

    // What a page of ours could do with them at worst.
    await page.goto(`${world.base}/ping`);
    await page.evaluate(`(${EMBED_ALL})(${JSON.stringify(links)})`);
    await settle();
    expect(await traces()).toEqual({ beacons: [], ran: null });

    // The sandbox alone holds too, where something on the way drops the disposition.
    await context.route(/\/[dp]\//, async (route) => {
      const answer = await route.fetch();
      const { 'content-disposition': _dropped, ...headers } = answer.headers();
      await route.fulfill({ response: answer, headers });
    });
    let shown = 0;
    for (const link of links) {
      const answer = await page.goto(`${world.base}${link}`).catch(() => undefined);
      if (answer) shown += 1;
    }
    await context.unroute(/\/[dp]\//);
    await settle();
    expect(await traces()).toEqual({ beacons: [], ran: null });
    // The check has looked at pages, not at downloads alone.
    expect(shown).toBeGreaterThan(8);
  });

  test('the web page shows each of them, and their names in every list, without a script having run', { timeout: 180_000 }, async () => {
    const { path } = await world.folder('shown');
    const files = hostileFiles(`${origin}/beacon`);
    for (const { name, content } of files) await put(world.admin, world.base, `${path}/${name}`, content);
    const kinds = new Set(files.map(({ name }) => name.split('.').at(-1)));
    for (const kind of ['svg', 'html', 'xhtml', 'md', 'epub', 'xml', 'pdf', 'mht']) expect(kinds).toContain(kind);

    const own = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 1400 } });
    const shown = await openTab(own, world.base, world.admin.token ?? '', path);
    const said = watchPage(shown);
    const grid = shown.getByRole('grid');
    await shown.getByRole('button', { name: 'Details' }).click();
    for (const { name } of files) {
      await shown.getByRole('link', { name, exact: true }).click();
      const dialog = shown.getByRole('dialog', { name, exact: true });
      await dialog.waitFor();
      await expect.poll(() => dialog.locator('.viewer-stage').textContent()).not.toBe('Loading…');
      const bytes = dialog.getByRole('button', { name: 'Show its bytes' });
      if ((await bytes.count()) > 0) await bytes.click();
      await shown.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      // The details of what was looked at.
      await shown.getByRole('complementary', { name: 'Details' }).getByText(name, { exact: true }).first().waitFor();
    }
    // Their names in dialogs, as what is found, as tiles, and in the address.
    for (const [key, dialog] of [
      ['F2', 'Rename many'],
      ['Delete', `Delete ${files.length} items?`],
    ] as const) {
      await grid.focus();
      await shown.keyboard.press('Control+a');
      await shown.keyboard.press(key);
      await shown.getByRole('dialog', { name: dialog }).waitFor();
      await shown.keyboard.press('Escape');
    }
    await grid.focus();
    await shown.keyboard.press('/');
    await shown.getByRole('combobox').fill('script');
    await shown.getByRole('option').first().waitFor();
    await shown.keyboard.press('Escape');
    await shown.getByRole('button', { name: 'Shown as: List' }).click();
    await shown.getByRole('menuitemradio', { name: 'Gallery' }).click();
    await shown.locator('.is-gallery').waitFor();

    // What a storage says when it fails may be somebody else's text, in the list of storages and in the folder.
    const message = `<img src=x onerror="fetch('${origin}/beacon?message')"><script>fetch('${origin}/beacon?message')</script>`;
    await shown.route('**/api/admin/storage/list*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replaceAll('"status":"work"', `"status":${JSON.stringify(message)}`),
      });
    });
    await shown.route('**/api/fs/list', (route) => route.fulfill({ json: { code: 500, message, data: null } }));
    await shown.goto(`${world.base}/@admin/storages`);
    await shown.getByText(message).first().waitFor();
    await shown.goto(world.base + path);
    await shown.getByRole('alert').getByText(message).waitFor();
    await settle();
    expect(beacons).toEqual([]);
    expect(await shown.evaluate("localStorage.getItem('ran')")).toBeNull();
    // The policy is heard while a text is cleaned, and for nothing else.
    expect(said.filter((text) => !/inline (style|event handler)/.test(text))).toEqual([]);
    await own.close();
  });

  test('the same files do run where nothing guards them: the test would see it', async () => {
    const [html] = hostileFiles(`${origin}/beacon`);
    await page.goto(`${origin}/`);
    await page.setContent(String(html?.content));
    await expect.poll(() => beacons.length).toBeGreaterThan(0);
  });

  test('what is asked for is not written into the pages that refuse it', async () => {
    const script = `<img src=x onerror="fetch('${origin}/beacon?refused')"><script>fetch('${origin}/beacon?refused')</script>`;
    for (const address of [
      `/d/${encodeURIComponent(script)}`,
      `/d/local/${encodeURIComponent(script)}?sign=${encodeURIComponent(script)}`,
      `/p/${script}`,
      `/api/fs/get?path=/${encodeURIComponent(script)}`,
      `/api/fs/list?path=/${encodeURIComponent(script)}`,
      `/api/public/settings?x=${encodeURIComponent(script)}`,
      `/${encodeURIComponent(script)}`,
      `/?${encodeURIComponent(script)}`,
    ])
      await page.goto(`${world.base}${address}`).catch(() => undefined);
    await settle();
    expect(await traces()).toEqual({ beacons: [], ran: null });
  });

  test('a page of another origin reads files, but calls the API only where it was let', async () => {
    const { path } = await world.folder('shared');
    await put(world.admin, world.base, `${path}/shared.txt`, 'shared text');
    const link = `${world.base}${await rawPath(world.admin, `${path}/shared.txt`)}`;
    const target = `${path}/made`;
    const asked = {
      me: { url: `${world.base}/api/me`, method: 'GET', headers: {} },
      login: { url: `${world.base}/api/auth/login`, method: 'POST', headers: { 'Content-Type': 'application/json' } },
      mkdir: {
        url: `${world.base}/api/fs/mkdir`,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: world.admin.token ?? '' },
      },
      put: {
        url: `${world.base}/api/fs/put`,
        method: 'PUT',
        headers: { Authorization: world.admin.token ?? '', 'File-Path': encodeURIComponent(`${path}/put.txt`) },
      },
    };
    const tryAll = async (from: string) => {
      await page.goto(`${from}/`);
      return page.evaluate(
        async ({ calls, file, folder }) => {
          const outcome: Record<string, string> = {};
          for (const [name, { url, method, headers }] of Object.entries(calls)) {
            const body = method === 'GET' ? null : JSON.stringify({ path: folder, username: 'nobody', password: 'x' });
            outcome[name] = await fetch(url, { method, headers: headers as Record<string, string>, body }).then(
              async (answer) => String(Reflect.get(Object(await answer.json()), 'code')),
              () => 'blocked',
            );
          }
          outcome['file'] = await fetch(file, { headers: { Range: 'bytes=0-5' } }).then(
            (answer) => answer.text(),
            () => 'blocked',
          );
          return outcome;
        },
        { calls: asked, file: link, folder: target },
      );
    };
    expect(await tryAll(origin)).toEqual({ me: 'blocked', login: 'blocked', mkdir: 'blocked', put: 'blocked', file: 'shared' });
    const names = async () => JSON.stringify(await world.admin.call('/api/fs/list', { path, refresh: true }));
    expect(await names()).not.toMatch(/made|put\.txt/);
    expect(await tryAll(friend)).toEqual({
      me: expect.stringMatching(/^(200|401)$/),
      login: '401',
      mkdir: '200',
      put: '200',
      file: 'shared',
    });
    expect(await names()).toMatch(/made/);
  });

  test('a form of another origin changes nothing: no login travels without being told to', async () => {
    const { path } = await world.folder('forged');
    await page.goto(`${origin}/`);
    await page.setContent(
      `<form method="post" action="${world.base}/api/fs/mkdir" enctype="application/x-www-form-urlencoded"><input name="path" value="${path}/forged"></form>`,
    );
    await Promise.all([page.waitForNavigation(), page.evaluate('document.forms[0].submit()')]);
    expect(JSON.stringify(await world.admin.call('/api/fs/list', { path, refresh: true }))).not.toContain('"forged"');
    expect(await context.cookies()).toEqual([]);
  });
});
