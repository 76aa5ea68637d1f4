import type { Browser, Page } from 'playwright-core';
import { memoryOfProcess } from './process-memory.ts';

/** What a page takes, in MiB. */
export interface PageMemory {
  /** What its scripts hold, after their garbage was collected. */
  readonly heapMib: number;
  /** The most that a process of pages ever had resident, with what lies beside the heap. */
  readonly peakMib: number;
}

/** Measures the pages of a browser that has one page. */
export async function measurePage(browser: Browser, page: Page): Promise<PageMemory> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  await devtools.detach();
  const all = await browser.newBrowserCDPSession();
  const { processInfo } = await all.send('SystemInfo.getProcessInfo');
  await all.detach();
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  const memory = await Promise.all(renderers.map(({ id }) => memoryOfProcess(id)));
  return { heapMib: usedSize / 1024 ** 2, peakMib: Math.max(...memory.map(({ peakMib }) => peakMib)) };
}
