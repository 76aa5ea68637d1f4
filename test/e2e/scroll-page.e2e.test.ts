import { isAvailable, isMissing } from '@wharf/harness';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBigFolder, scrollOn } from './support/big-folder.ts';
import { openBrowser } from './support/browser.ts';
import { COUNTED_FLAGS, type PageTrace, startCountingSteps, tracePage } from './support/page-trace.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';

/** Both are read in pages. */
const SMALL = 10_000;
const BIG = 100_000;
/** By rows, and from one place to another as a scroll bar is dragged: within both folders. */
const SCROLLS = [
  { how: 'by rows', frames: 30, stepPx: 132 },
  { how: 'by leaps', frames: 10, stepPx: 30_000 },
];

/** Boxes of all rows that exist at once. */
const MOST_PLACED = 1_500;

const found = await openBrowser(...COUNTED_FLAGS);

describe.runIf(isAvailable('chromium', found))('scrolling', () => {
  const browser = found as Browser;
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  /** With an entry chosen, which the list keeps its place of. */
  const measure = async (count: number) => {
    const { page, context, said } = await openBigFolder(world, count);
    const counted = await startCountingSteps(page);
    await choose(page);
    const measured: { how: string; frames: number; steps: number }[] = [];
    for (const { how, frames, stepPx } of SCROLLS) {
      // Once before: what comes from the server, or is compiled, is not scrolling.
      await scrollOn(page, frames, stepPx, true);
      measured.push({ how, frames, steps: await counted.during(() => scrollOn(page, frames, stepPx)) });
    }
    await counted.stop();
    const traces: PageTrace[] = [];
    for (const { frames, stepPx } of SCROLLS) traces.push(await tracePage(browser, page, () => scrollOn(page, frames, stepPx)));
    expect(said).toEqual([]);
    await context.close();
    return traces.map((trace, index) => ({ ...trace, how: '', frames: 0, steps: 0, ...measured[index] }));
  };
  const choose = async (page: Page) => {
    await page.locator('.cell-link').first().waitFor();
    await page.getByRole('grid').focus();
    await page.keyboard.press('Home');
  };

  test('costs one layout for each frame, and in a folder of ten times the entries no more', { timeout: 240_000 }, async () => {
    const [small, big] = [await measure(SMALL), await measure(BIG)];
    for (const [index, { how, layouts, frames, mostPlaced, mostStyled, steps }] of big.entries()) {
      const before = small[index];
      // What comes from the server makes more of them.
      expect(layouts, how).toBeLessThan(2 * frames);
      expect(mostPlaced, how).toBeLessThan(MOST_PLACED);
      for (const [what, now, then] of [
        ['boxes', mostPlaced, before?.mostPlaced],
        ['styles', mostStyled, before?.mostStyled],
        ['layouts', layouts, before?.layouts],
        ['steps', steps, before?.steps],
      ] as const)
        expect(now, `${what} ${how}`).toBeLessThan(1.5 * (then ?? 0));
    }
  });
});
