import type { Page } from 'playwright-core';
import type { PageWorld } from './page-world.ts';

/** A folder of so many files that are nowhere, opened in a page. */
export async function openBigFolder(world: PageWorld, count: number) {
  const path = `/${world.unique('big')}`;
  const addition = { num_file: count, num_folder: 0, min_file_size: 0, max_file_size: 1_000_000 };
  await world.admin.call('/api/admin/storage/create', { mount_path: path, driver: 'Virtual', addition: JSON.stringify(addition) });
  const opened = await world.open(world.admin.token ?? '', path);
  await opened.page.locator('.cell-link').first().waitFor();
  return opened;
}

/**
 * Scrolls the list from its top on, by `stepPx` in each of `frames` frames.
 *
 * @param isWaiting whether it waits in each place for what comes from the server.
 */
export function scrollOn(page: Page, frames: number, stepPx: number, isWaiting = false): Promise<unknown> {
  return page.evaluate(`new Promise((done) => {
    const list = document.querySelector('.file-list');
    let frame = 0;
    const step = () => {
      if (!${isWaiting} || document.querySelector('.is-awaited') === null) {
        if (frame === ${frames}) return done();
        frame += 1;
        list.scrollTop = frame * ${stepPx};
      }
      requestAnimationFrame(step);
    };
    list.scrollTop = 0;
    requestAnimationFrame(step);
  })`);
}
