import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, login } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the first visit', () => {
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  test('leads the admin through a storage and an invitation, and is over then', async () => {
    const disk = join(world.outside, 'mine');
    await mkdir(disk);
    const { page, context, said } = await world.open(world.admin.token ?? '', '/');
    const steps = page.getByRole('region', { name: 'Welcome aboard' });
    await steps.getByRole('button', { name: 'Add a storage' }).waitFor();
    await expectAccessible(page);
    await steps.getByRole('button', { name: 'Add a storage' }).click();
    await page.getByRole('list', { name: 'Kinds of storage' }).getByRole('button', { name: 'Local' }).click();
    await page.getByLabel('Where it appears').fill('/mine');
    await page.getByLabel('Folder', { exact: true }).fill(disk);
    await page.getByRole('dialog').getByRole('button', { name: 'Add a storage' }).click();
    await page.getByRole('grid').getByRole('link', { name: 'mine' }).waitFor();
    await steps.getByRole('heading', { name: 'Bring your files in (Done)' }).waitFor();
    await steps.getByRole('button', { name: 'Invite somebody' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('ann');
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill('a-good-password');
    await page.getByRole('dialog').getByRole('button', { name: 'Invite somebody' }).click();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await steps.getByRole('heading', { name: 'Invite somebody (Done)' }).waitFor();
    await login(world.base, 'ann', 'a-good-password');
    await steps.getByRole('button', { name: 'Close' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('grid').waitFor();
    expect(await steps.count()).toBe(0);
    expect(said).toEqual([]);
    await context.close();
  });

  test('leaves the files in reach on a phone, below its steps', async () => {
    const { page, context } = await world.open(world.admin.token ?? '', '/', { viewport: { width: 390, height: 800 } });
    // The other test may have put it away, for that browser alone; here are storages enough.
    await page.evaluate("localStorage.setItem('wharf.welcome', 'shown')");
    await page.reload();
    await page.getByRole('region', { name: 'Welcome aboard' }).waitFor();
    await page.getByRole('grid').getByRole('link', { name: 'local' }).click();
    await page.waitForURL(`${world.base}/local`);
    await context.close();
  });

  test('is not for others than the admin', async () => {
    const { token } = await world.person('other');
    const { page, context } = await world.open(token, '/');
    await page.getByRole('grid').waitFor();
    expect(await page.getByRole('region', { name: 'Welcome aboard' }).count()).toBe(0);
    await context.close();
  });
});
