import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { openBigFolder, scrollOn } from './big-folder.ts';
import { type PageTrace, tracePage } from './page-trace.ts';
import type { PageWorld } from './page-world.ts';

/** What a phone of some years ago has. */
const SLOWER = 4;
const BYTES_PER_SECOND = 10_000_000 / 8;
const ROUND_TRIP_MS = 20;
const ENTRIES = 100_000;
const SCROLLS = [
  { how: 'by rows', frames: 180, stepPx: 132 },
  { how: 'by leaps', frames: 60, stepPx: 70_000 },
];

export interface PageFigures {
  readonly scrolled: readonly (PageTrace & { readonly how: string })[];
  /** Until the first name of a folder is drawn, in milliseconds, on a slower processor and network; the quickest of several. */
  readonly firstListingMs: number;
  /** What it loaded for that, compressed. */
  readonly scriptBytes: number;
  readonly styleBytes: number;
}

/** What the page costs where it is dearest. The figures are those of this machine, and of what else runs on it. */
export async function measurePageFigures(browser: Browser, world: PageWorld, times: number): Promise<PageFigures> {
  const { page, context } = await openBigFolder(world, ENTRIES);
  const scrolled: (PageTrace & { how: string })[] = [];
  for (const { how, frames, stepPx } of SCROLLS) {
    await scrollOn(page, frames, stepPx, true);
    scrolled.push({ how, ...(await tracePage(browser, page, () => scrollOn(page, frames, stepPx))) });
  }
  await context.close();

  const folder = await world.folder('first');
  for (let index = 0; index < 30; index += 1) await writeFile(join(folder.disk, `file ${index}.txt`), '');
  const firsts: FirstListing[] = [];
  for (let time = 0; time < times; time += 1) firsts.push(await firstListing(world, browser, folder.path));
  const [quickest] = firsts.toSorted((left, right) => left.firstListingMs - right.firstListingMs);
  if (!quickest) throw new Error('it is measured once at least');
  return { scrolled, ...quickest };
}

type FirstListing = Omit<PageFigures, 'scrolled'>;

/** By somebody who was never there, so that nothing is cached. */
async function firstListing(world: PageWorld, browser: Browser, path: string): Promise<FirstListing> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript((token) => {
    localStorage.setItem('wharf.token', token);
  }, world.admin.token ?? '');
  await page.addInitScript(`{
    const look = () => (document.querySelector('.cell-link') ? requestAnimationFrame(() => performance.mark('first-listing')) : requestAnimationFrame(look));
    look();
  }`);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  const speed = { downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND, latency: ROUND_TRIP_MS };
  await devtools.send('Network.emulateNetworkConditions', { offline: false, ...speed });
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  await page.goto(world.base + path);
  const firstListingMs = Number(
    await page.evaluate(`new Promise((done) => {
      const look = () => {
        const [mark] = performance.getEntriesByName('first-listing');
        mark ? done(mark.startTime) : setTimeout(look, 50);
      };
      look();
    })`),
  );
  const bytes = async (ending: string) =>
    Number(
      await page.evaluate(
        `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('${ending}')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      ),
    );
  const sizes = { scriptBytes: await bytes('.js'), styleBytes: await bytes('.css') };
  await context.close();
  return { firstListingMs, ...sizes };
}
