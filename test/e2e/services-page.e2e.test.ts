import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { httpRequest, isAvailable, isMissing, startServices } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { logIn } from './support/web-page.ts';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the web page before five services', () => {
  const browser = found as Browser;
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(browser, startServices);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  /** What people come for: a folder of the tree, in a page. */
  const openFolder = async () => {
    const folder = await world.folder('flow');
    await writeFile(join(folder.disk, 'alpha.txt'), 'the alpha text');
    const opened = await world.open(world.admin.token ?? '', folder.path, { permissions: ['clipboard-read', 'clipboard-write'] });
    const row = (name: string) => opened.page.getByRole('row').filter({ has: opened.page.getByRole('link', { name, exact: true }) });
    await row('alpha.txt').waitFor();
    return { ...folder, ...opened, row };
  };

  test('a login leads to the files, and folders open', async () => {
    const { page, context, said } = await world.open('', '/');
    await logIn(page, world.base, 'admin', world.wharf.adminPassword);
    await page.getByRole('grid').getByRole('link', { name: 'local' }).click();
    await page.waitForURL(`${world.base}/local`);
    expect(said).toEqual([]);
    await context.close();
  });

  test('a file is uploaded, renamed, downloaded, and reached by its link', async () => {
    const { page, context, said, disk, row } = await openFolder();
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Upload files' }).click();
    await (await chooser).setFiles([{ name: 'sent ü.txt', mimeType: 'text/plain', buffer: Buffer.from('sent') }]);
    await row('sent ü.txt').waitFor();
    expect(await readFile(join(disk, 'sent ü.txt'), 'utf8')).toBe('sent');

    await row('sent ü.txt').click();
    await page.keyboard.press('F2');
    await page.getByRole('textbox', { name: 'New name of sent ü.txt' }).fill('kept ü.txt');
    await page.keyboard.press('Enter');
    await row('kept ü.txt').waitFor();
    expect(await readFile(join(disk, 'kept ü.txt'), 'utf8')).toBe('sent');

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect(await readFile(await (await download).path(), 'utf8')).toBe('sent');

    await row('kept ü.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Copy link' }).click();
    await page.getByText('Link copied').waitFor();
    const address = new URL(String(await page.evaluate('navigator.clipboard.readText()')));
    const answer = await httpRequest(world.base, { path: `${address.pathname}${address.search}` });
    expect([answer.status, answer.text()]).toEqual([200, 'sent']);
    expect(said).toEqual([]);
    await context.close();
  });

  test('a copy to another storage is seen as it goes, and when it is done', async () => {
    const { page, context, said, path, disk } = await openFolder();
    const mount = `/${world.unique('other')}`;
    const there = join(world.outside, mount);
    await mkdir(there);
    const addition = JSON.stringify({ root_folder_path: there, mkdir_perm: '777' });
    await world.admin.call('/api/admin/storage/create', { mount_path: mount, driver: 'Local', addition });
    await mkdir(join(disk, 'tree'));
    for (let index = 0; index < 30; index += 1) await writeFile(join(disk, 'tree', `${index}.txt`), `text ${index}`);
    await page.reload();
    await page.getByRole('button', { name: 'Tasks' }).click();
    await page.getByRole('dialog', { name: 'Tasks' }).waitFor();
    // The page looks on while somebody copies, and shows it without being asked again.
    await world.admin.call('/api/fs/copy', { src_dir: path, dst_dir: mount, names: ['tree'] });
    const copy = page.getByRole('dialog', { name: 'Tasks' }).getByText('Copy tree');
    await copy.waitFor();
    await page.getByRole('dialog', { name: 'Tasks' }).getByText('Done', { exact: false }).first().waitFor();
    await expect.poll(() => readFile(join(there, 'tree', '29.txt'), 'utf8').catch(() => '')).toBe('text 29');
    expect(said).toEqual([]);
    await context.close();
  });

  test('a copy by the picker arrives', async () => {
    const { page, context, said, disk, row } = await openFolder();
    await mkdir(join(disk, 'into'));
    await page.reload();
    await row('alpha.txt').click();
    await page.getByRole('button', { name: 'Copy to…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy “alpha.txt”' });
    await dialog.getByRole('button', { name: 'into' }).click();
    await dialog.getByRole('button', { name: 'Copy here' }).click();
    await expect.poll(() => readFile(join(disk, 'into', 'alpha.txt'), 'utf8').catch(() => '')).toBe('the alpha text');
    expect(said).toEqual([]);
    await context.close();
  });

  test('the start page of the administration knows of all services', async () => {
    const { page, context, said } = await world.open(world.admin.token ?? '', '/@admin');
    await page.getByText('All answer').waitFor();
    await page.getByRole('heading', { name: 'What happened last' }).waitFor();
    expect(said).toEqual([]);
    await context.close();
  });
});
