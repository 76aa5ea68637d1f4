import { ensureCommand, isMissing, type Missing } from '@wharf/harness';
import puppeteer, { type Browser, type ConsoleMessage, type Page } from 'puppeteer-core';

/** Of Debian. */
const PROGRAM = 'firefox-esr';
/** How long something may take on a machine that is busy. */
const PATIENCE_MS = 60_000;

/** Firefox without a window, by WebDriver BiDi; whoever opened it closes it. @param downloads the folder that it stores files in */
export async function openFirefox(downloads: string): Promise<Browser | Missing> {
  const program = await ensureCommand(PROGRAM, PROGRAM);
  if (isMissing(program)) return program;
  return puppeteer.launch({
    ...{ browser: 'firefox', headless: true, timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS },
    executablePath: program.path,
    extraPrefsFirefox: {
      'browser.download.dir': downloads,
      'browser.download.folderList': 2,
      'browser.helperApps.neverAsk.saveToDisk': 'application/octet-stream,text/plain',
      'intl.accept_languages': 'en-GB',
    },
  });
}

const quoted = (text: string) => (text.includes('"') ? `'${text}'` : `"${text}"`);
const isCalled = (name: string) => `normalize-space()=${quoted(name)} or @aria-label=${quoted(name)}`;

/** A page as people know it: by what stands on its buttons and beside its fields. */
export function createFinder(page: Page) {
  page.setDefaultTimeout(PATIENCE_MS);
  const by = (path: string) => page.locator(`::-p-xpath(${path})`);
  return {
    button: (name: string) => by(`//button[${isCalled(name)}]`),
    /** In the dialog that is open. */
    dialogButton: (name: string) => by(`//*[@role="dialog"]//button[${isCalled(name)}]`),
    menuItem: (name: string) => by(`//*[@role="menuitem"][starts-with(normalize-space(), ${quoted(name)})]`),
    field: (label: string) =>
      by(`//*[self::input or self::textarea][@id=//label[normalize-space()=${quoted(label)}]/@for or @aria-label=${quoted(label)}]`),
    row: (name: string) => by(`//*[@role="row"][.//a[normalize-space()=${quoted(name)}]]`),
    link: (name: string) => by(`//*[@role="row"]//a[normalize-space()=${quoted(name)}]`),
    text: (text: string) => by(`//*[contains(text(), ${quoted(text)})]`),
    /** Resolves when no entry has the name any more. */
    gone: (name: string) =>
      page.waitForFunction(
        `![...document.querySelectorAll('[role="row"] a')].some((link) => link.textContent === ${JSON.stringify(name)})`,
      ),
  };
}

/** What the page said that it should not: errors, and what its own policy refused it. */
export function watchFirefox(page: Page): readonly string[] {
  const said: string[] = [];
  page.on('pageerror', (error: unknown) => said.push(String(error)));
  page.on('console', (message: ConsoleMessage) => {
    if (/Content-Security-Policy|Trusted ?Type/i.test(message.text())) said.push(message.text());
  });
  return said;
}
