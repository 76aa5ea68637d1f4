import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@wharf/harness';
import axe from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** Where the page lies that tests use, by a hash of what it is built from: it is built once for all of them. */
const BUILT = join(ROOT, '.tooling', 'test-web');
const BUILD_WITHIN_MS = 170_000;

/** The web page, built from its present sources, and shared by all tests. @returns its folder. */
export async function buildWebPage(): Promise<{ path: string }> {
  const path = join(BUILT, await hashOfSources());
  if (existsSync(path)) return { path };
  await mkdir(BUILT, { recursive: true });
  // Several test files may build at once; the first one that is through is taken.
  const own = await mkdtemp(join(BUILT, 'building-'));
  const built = join(own, 'built');
  const answer = await runCommand(process.execPath, [join(ROOT, 'tools/run.mjs'), 'web', built], { withinMs: BUILD_WITHIN_MS });
  if (answer.code !== 0) throw new Error(`the web page was not built: ${answer.stderr}`);
  await rename(built, path).catch((error: unknown) => {
    if (!existsSync(path)) throw error;
  });
  await rm(own, { recursive: true, force: true });
  return { path };
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const web = join(ROOT, 'web');
  const names = ['package.json', 'pnpm-lock.yaml', 'vite.config.ts', 'tsconfig.json', 'index.html'];
  for (const name of await readdir(join(web, 'src'), { recursive: true })) if (/\.\w+$/.test(name)) names.push(join('src', name));
  for (const name of names.toSorted()) hash.update(name).update(await readFile(join(web, name)));
  return hash.digest('hex').slice(0, 16);
}

/** What a page said that it should not: errors, and what its own policy refused it. */
export function watchPage(page: Page): readonly string[] {
  const said: string[] = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text())) said.push(message.text());
  });
  return said;
}

/** Holds what the page shows to the rules of axe, WCAG 2.2 AA and good practice. */
export async function expectAccessible(page: Page): Promise<void> {
  // What fades in has not its colours yet.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((each) => each.effect.getTiming().iterations === 1).map((each) => each.finished))',
  );
  await page.evaluate(axe.source);
  // A menu stands beside the landmarks, as its pattern has it.
  const hasMenu = (await page.getByRole('menu').count()) > 0;
  const found: unknown = await page.evaluate(
    `(async () => (await axe.run({ rules: { region: { enabled: ${!hasMenu} } } })).violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + " " + failureSummary).join(" | ")))()`,
  );
  expect(found).toEqual([]);
}

/** Logs in through the form, and waits for the files. */
export async function logIn(page: Page, base: string, name: string, password: string): Promise<void> {
  await page.goto(`${base}/`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('grid').waitFor();
}

/** A tab of somebody who is logged in already. */
export async function openTab(context: BrowserContext, base: string, token: string, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript((value) => localStorage.setItem('wharf.token', value), token);
  await page.goto(base + path);
  return page;
}
