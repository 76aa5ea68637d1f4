import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing, startStandalone } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isShown, storeHostileFiles } from './support/hostile-files.ts';
import { buildWebPage } from './support/web-page.ts';
import { openWebKit, type WebKitPage } from './support/webkit.ts';
import { openWorld, type World } from './support/world.ts';

/** More than the page puts as one body. */
const IN_PARTS_BYTES = 20 * 1024 * 1024 + 7;

const found = await openWebKit();

describe.runIf(isAvailable('WebKit', found))('the page in WebKit', () => {
  const page = found as WebKitPage;
  let world: World;

  beforeAll(async () => {
    const built = await buildWebPage();
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path } });
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  const text = (...path: readonly string[]) => readFile(join(...path), 'utf8').catch(() => 'not there');
  const row = (name: string) => `//*[@role="row"]//a[normalize-space()="${name}"]`;

  test('somebody logs in, opens a folder and a file, uploads at once and in parts, makes a folder and logs out', {
    timeout: 300_000,
  }, async () => {
    const { path, disk } = await world.folder('webkit');
    await writeFile(join(disk, 'alpha.txt'), 'the alpha text');
    await page.open(world.base + path);
    await page.write('//input[@autocomplete="username"]', 'admin');
    await page.write('//input[@type="password"]', world.wharf.adminPassword);
    await page.click('//button[@type="submit"]');

    await page.click(row('alpha.txt'));
    await page.see('//*[contains(text(), "the alpha text")]');
    await page.click('//*[@role="dialog"]//button[@aria-label="Close"]');

    // The driver has no dialog for files: a script chooses them in the field.
    await page.run(`
      const transfer = new DataTransfer();
      transfer.items.add(new File(['sent'], 'sent ü.txt'));
      transfer.items.add(new File([new Uint8Array(${IN_PARTS_BYTES}).fill(7)], 'big.bin'));
      HTMLInputElement.prototype.click = function () {
        this.files = transfer.files;
        this.dispatchEvent(new Event('change', { bubbles: true }));
      };
    `);
    await page.click('//button[normalize-space()="New" or @aria-label="New"]');
    await page.click('//*[@role="menuitem"][starts-with(normalize-space(), "Upload files")]');
    await page.see(row('sent ü.txt'));
    await page.see('//*[contains(text(), "2 files uploaded")]');
    expect(await text(disk, 'sent ü.txt')).toBe('sent');
    const whole = createHash('sha256').update(Buffer.alloc(IN_PARTS_BYTES, 7)).digest('hex');
    const arrived = createHash('sha256')
      .update(await readFile(join(disk, 'big.bin')))
      .digest('hex');
    expect(arrived).toBe(whole);

    await page.click('//button[normalize-space()="New" or @aria-label="New"]');
    await page.click('//*[@role="menuitem"][starts-with(normalize-space(), "New folder")]');
    await page.write('//*[@role="dialog"]//input', 'made\uE007');
    await page.click(row('made'));
    await page.see('//*[contains(text(), "This folder is empty")]');
    await expect.poll(() => page.run('return location.pathname')).toBe(`${path}/made`);

    await page.click('//button[normalize-space()="admin" or @aria-label="admin"]');
    await page.click('//*[@role="menuitem"][starts-with(normalize-space(), "Log out")]');
    await page.see('//button[normalize-space()="Log in"]');
  });

  test('files and names of somebody else are shown without a script having run (C10)', { timeout: 300_000 }, async () => {
    const { path } = await world.folder('hostile');
    const { names, beacons } = await storeHostileFiles(world, path);
    // A page of the site without scripts, which would take the login for one that has ended.
    await page.open(`${world.base}/ping`);
    await page.run(`localStorage.setItem('wharf.token', ${JSON.stringify(world.admin.token ?? '')})`);
    for (const name of names) {
      await page.open(`${world.base}${path}/${encodeURIComponent(name)}`);
      await expect.poll(() => page.run(`return ${isShown(name)}`)).toBe(true);
    }
    await page.see('//pre[contains(text(), "*a_*a_")]');
    expect(await page.run(`return localStorage.getItem('ran')`)).toBeNull();
    expect(beacons).toEqual([]);
  });
});
