import { login, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { buildWebPage, openTab, watchPage } from './web-page.ts';
import { openWorld, type World } from './world.ts';

/** A Wharf with its web page, for the pages beside the files. */
export interface PageWorld extends World {
  /** A page of somebody in a browser of their own. */
  open(token: string, path: string, options?: Parameters<Browser['newContext']>[0]): Promise<OpenPage>;
  /** Makes a user and logs in. */
  person(purpose: string, fields?: Readonly<Record<string, unknown>>): Promise<Person>;
}

interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page said that it should not. */
  readonly said: readonly string[];
}

interface Person {
  readonly name: string;
  readonly password: string;
  readonly token: string;
}

/** @param start the shape; one process where it is not given */
export async function openPageWorld(browser: Browser, start: Parameters<typeof openWorld>[0] = startStandalone): Promise<PageWorld> {
  const built = await buildWebPage();
  const world = await openWorld(start, { env: { WHARF_WEB_DIR: built.path } });
  return {
    ...world,
    async open(token, path, options) {
      const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options });
      const page = await openTab(context, world.base, token, path);
      return { page, context, said: watchPage(page) };
    },
    async person(purpose, fields = {}) {
      const name = world.unique(purpose);
      const password = 'a-good-password';
      await world.admin.call('/api/admin/user/create', { username: name, password, base_path: '/', role: 0, permission: 0, ...fields });
      const { token = '' } = await login(world.base, name, password);
      return { name, password, token };
    },
  };
}
