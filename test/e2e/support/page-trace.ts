import { at } from '@wharf/harness';
import type { Browser, Page } from 'playwright-core';

/** What a browser's performance trace says of the page's own thread. */
export interface PageTrace {
  /** Frames that scripts of the page were asked to draw for. */
  readonly frames: number;
  readonly layouts: number;
  /** Boxes that one layout had to place, and elements whose style was found at once, at the most. */
  readonly mostPlaced: number;
  readonly mostStyled: number;
  /** Of one task and of one layout, in milliseconds of processor time: what other processes take is not in it. */
  readonly longestTaskMs: number;
  readonly longestLayoutMs: number;
}

const CATEGORIES = ['-*', 'devtools.timeline', 'disabled-by-default-devtools.timeline'];

/** Whether it is the address of a script of the page; those of a test have none. */
const isOurs = (url: unknown) => String(url).includes('/assets/');

/** In the page: what was begun is drawn. */
const DRAWN = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** Traces the page while it is acted upon. One trace at a time for a browser. */
export async function tracePage(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<PageTrace> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await act();
  await page.evaluate(DRAWN);
  const document: unknown = JSON.parse((await browser.stopTracing()).toString());
  const events = at(document, 'traceEvents');
  if (!Array.isArray(events)) throw new Error('the browser wrote no trace');
  const thread = (event: unknown) => `${at(event, 'pid')} ${at(event, 'tid')}`;
  const isNamed = (name: string) => (event: unknown) => at(event, 'name') === name;
  const main = new Set(
    events.filter((event) => isNamed('thread_name')(event) && at(event, 'args', 'name') === 'CrRendererMain').map((event) => thread(event)),
  );
  const own = events.filter((event) => main.has(thread(event)));
  const most = (name: string, ...steps: string[]) =>
    Math.max(0, ...own.filter(isNamed(name)).map((event) => Number(at(event, ...steps) ?? 0)));
  const layouts = own.filter(isNamed('Layout'));
  return {
    frames: own.filter(isNamed('FireAnimationFrame')).length,
    layouts: layouts.length,
    mostPlaced: most('Layout', 'args', 'beginData', 'dirtyObjects'),
    mostStyled: most('UpdateLayoutTree', 'args', 'elementCount'),
    longestTaskMs: most('RunTask', 'tdur') / 1000,
    longestLayoutMs: most('Layout', 'tdur') / 1000,
  };
}

/** Code that is optimised is not counted. */
export const COUNTED_FLAGS = ['--js-flags=--no-opt,--no-maglev,--no-sparkplug'];

/**
 * Counts the steps that the page's scripts take: how often each of their functions and blocks is entered. Loads the page again, since only what is
 * compiled from now on is counted whole, in a browser with `COUNTED_FLAGS`.
 */
export async function startCountingSteps(
  page: Page,
): Promise<{ during(act: () => Promise<unknown>): Promise<number>; stop(): Promise<void> }> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Profiler.enable');
  await devtools.send('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await page.reload();
  return {
    async during(act) {
      await devtools.send('Profiler.takePreciseCoverage');
      await act();
      await page.evaluate(DRAWN);
      const { result } = await devtools.send('Profiler.takePreciseCoverage');
      const functions = result.filter(({ url }) => isOurs(url)).flatMap((script) => script.functions);
      return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
    },
    async stop() {
      await devtools.send('Profiler.stopPreciseCoverage');
      await devtools.detach();
    },
  };
}
