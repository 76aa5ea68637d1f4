import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, isAvailable, isMissing } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the administration', () => {
  let world: PageWorld;
  const openAdmin = (section: string, options?: Parameters<PageWorld['open']>[2]) =>
    world.open(world.admin.token ?? '', `/@admin${section === '' ? '' : `/${section}`}`, options);

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  test('every page of it is accessible, and says nothing that it should not', async () => {
    const { page, context, said } = await openAdmin('');
    await page.getByRole('heading', { name: 'What happened last' }).waitFor();
    await expectAccessible(page);
    const pages = [
      ['Storages', 'Your storages'],
      ['People', 'Everybody'],
      ['Path rules', 'Who may do what'],
      ['Settings', 'This site'],
      ['Download tools', 'Transmission'],
      ['Search', 'Index of names'],
      ['Audit trail', 'Audit trail'],
      ['Export and import', 'Import'],
    ] as const;
    for (const [link, heading] of pages) {
      await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: link }).click();
      await page.getByRole('heading', { name: heading, exact: true }).last().waitFor();
      await expect.poll(() => page.locator('.spinner').count()).toBe(0);
      await expectAccessible(page);
    }
    expect(said).toEqual([]);
    await context.close();
  });

  test('nobody else gets in', async () => {
    const { token } = await world.person('visitor');
    const { page, context } = await world.open(token, '/@admin/users');
    await page.getByText('Only the admin comes in here.').waitFor();
    expect(await page.getByRole('link', { name: 'People' }).count()).toBe(1);
    await context.close();
  });

  test('by the keyboard alone a storage is tried, mended, added and found in the tree', async () => {
    const disk = join(world.outside, world.unique('mounted'));
    await mkdir(disk);
    await writeFile(join(disk, 'inside.txt'), 'text');
    const mount = `/${world.unique('mounted')}`;
    const { page, context, said } = await openAdmin('storages');
    await page.getByRole('list', { name: 'Storages' }).getByText('/local').waitFor();
    await page.getByRole('button', { name: 'Add a storage' }).press('Enter');
    await page.getByRole('list', { name: 'Kinds of storage' }).getByRole('button', { name: 'Local' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('list', { name: 'Kinds of storage' }).getByRole('button', { name: 'Local' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Add a storage: Local' });
    await dialog.getByLabel('Where it appears').focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(mount);
    await dialog.getByLabel('Folder', { exact: true }).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(`${disk}-not-there`);
    await dialog.getByRole('button', { name: 'Try it' }).press('Enter');
    await dialog.locator('.problem').filter({ hasText: /\w/ }).first().waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Folder', { exact: true }).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(disk);
    await dialog.getByRole('button', { name: 'Try it' }).press('Enter');
    await dialog.getByText('It works.').waitFor();
    await dialog.getByLabel('Folder', { exact: true }).press('Enter');
    await page.getByText('The storage is added').waitFor();
    const row = page.getByRole('list', { name: 'Storages' }).getByRole('listitem').filter({ hasText: mount });
    await row.getByText('Works').waitFor();
    expect(await world.admin.post('/api/fs/list', { path: mount })).toMatchObject({ code: 200, data: { total: 1 } });

    await row.getByRole('button', { name: `Switch ${mount} off` }).press('Enter');
    await row.getByText('Off', { exact: true }).waitFor();
    await row.getByRole('button', { name: `Move ${mount} up` }).press('Enter');
    await page.getByRole('list', { name: 'Storages' }).getByRole('listitem').first().filter({ hasText: mount }).waitFor();
    await row.getByRole('button', { name: `Remove ${mount}` }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    // Rows have no role while a dialog is over them: the row is seen to be gone only after it.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    expect(await readFile(join(disk, 'inside.txt'), 'utf8')).toBe('text');
    expect(said).toEqual([]);
    await context.close();
  });

  test('a rule shows what it does to whom before it is saved, and does it after', async () => {
    const folder = await world.folder('ruled');
    const [reader, stranger] = [await world.person('reader'), await world.person('stranger')];
    const { page, context, said } = await openAdmin('rules');
    await page.getByRole('button', { name: 'Add a rule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Path', { exact: true }).fill(folder.path);
    await dialog.getByRole('group', { name: 'Only these see it' }).getByLabel(reader.name).check();
    const of = (name: string) => dialog.getByRole('row').filter({ hasText: name });
    await of(stranger.name).getByText(`not a reader of ${folder.path}`).first().waitFor();
    await of(reader.name).getByText(`rule at ${folder.path}`).first().waitFor();
    await expectAccessible(page);
    const list = async ({ token }: { token: string }) =>
      (
        await fetch(`${world.base}/api/fs/list`, {
          method: 'POST',
          headers: { Authorization: token, 'Content-Type': 'application/json' },
          body: JSON.stringify({ path: folder.path }),
        })
      ).json();
    expect(await list(stranger)).toMatchObject({ code: 200 });
    await dialog.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByRole('list', { name: 'Path rules' }).getByText('only some see it').waitFor();
    expect(await list(stranger)).toMatchObject({ code: 403 });
    expect(await list(reader)).toMatchObject({ code: 200 });
    // Somebody else closes it further while the page is open.
    const ofFolder = async () => {
      const { content } = (await world.admin.get('/api/admin/meta/list')).data as { content: { id: number; path: string }[] };
      return content.find(({ path }) => path === folder.path);
    };
    await world.admin.post('/api/admin/meta/update', { ...(await ofFolder()), password: 'closed' });
    await page.getByRole('button', { name: `Edit ${folder.path}` }).click();
    await dialog.getByLabel('Hide', { exact: false }).fill('^secret');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await ofFolder()).toMatchObject({ password: 'closed', hide: '^secret', read_users: [expect.any(Number)] });
    expect(await list(reader)).toMatchObject({ code: 403 });
    await page.getByLabel('Path', { exact: true }).fill(`${folder.path}/deeper`);
    await page.getByRole('row').filter({ hasText: stranger.name }).getByText(`not a reader of ${folder.path}`).first().waitFor();
    await page.getByRole('button', { name: `Remove ${folder.path}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The rule is removed').waitFor();
    expect(await list(stranger)).toMatchObject({ code: 200 });
    expect(said).toEqual([]);
    await context.close();
  });

  test('settings are found by a word, changed, and saved together', async () => {
    const { page, context, said } = await openAdmin('settings');
    await page.getByLabel('Find a setting').fill('page size');
    await page.getByLabel('Default page size').fill('17');
    await page.getByText('1 change is not saved').waitFor();
    await page.getByLabel('Find a setting').fill('');
    await page.getByLabel('Allow indexed').check();
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByText('Your changes are not saved.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Go on editing' }).click();
    await page.getByText('2 changes are not saved').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const { data } = await world.admin.get('/api/admin/setting/get?keys=default_page_size,allow_indexed');
    expect(data).toMatchObject([{ value: '17' }, { value: 'true' }]);
    await page.getByLabel('Default page size').fill('18');
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('button', { name: 'Discard them' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    expect(said).toEqual([]);
    await context.close();
  });

  test('a download tool that does not answer is not stored, and why is said', async () => {
    const { page, context, said } = await openAdmin('downloads');
    const section = page.locator('.section').filter({ has: page.getByRole('heading', { name: 'aria2' }) });
    await section.getByLabel('Address').fill('http://127.0.0.1:1/jsonrpc');
    await section.getByRole('button', { name: 'Try and save' }).click();
    await section.locator('.problem').filter({ hasText: 'aria2' }).waitFor();
    const { data } = await world.admin.get('/api/admin/setting/get?key=rpcdl_uri');
    expect(String(at(data, 'value'))).not.toContain(':1/');
    expect(said).toEqual([]);
    await context.close();
  });

  test('the index is switched on, built, and switched off', async () => {
    const { page, context, said } = await openAdmin('search');
    await page.getByRole('button', { name: 'Switch on and build' }).click();
    await page.getByText('Ready', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('button', { name: 'Switch on and build' }).waitFor();
    expect(said).toEqual([]);
    await context.close();
  });

  test('what is exported is imported again, after it is shown what it would change', async () => {
    const { page, context, said } = await openAdmin('backup');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const file = await (await download).path();
    const document = JSON.parse(await readFile(file, 'utf8'));
    const name = world.unique('imported');
    document.users.push({ username: name, base_path: '/', role: 0, permission: 8 });
    await page.getByLabel('File').setInputFiles({
      name: 'wharf.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(document)),
    });
    await page.getByRole('button', { name: 'Look what it does' }).click();
    const record = page.getByRole('listitem').filter({ hasText: name });
    await record.getByText('New', { exact: true }).waitFor();
    await expectAccessible(page);
    const users = async () => JSON.stringify((await world.admin.get('/api/admin/user/list')).data);
    expect(await users()).not.toContain(name);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText(/^Done:/).waitFor();
    expect(await users()).toContain(name);
    expect(said).toEqual([]);
    await context.close();
  });

  test('the trail is read by what happened and by whom', async () => {
    const { name } = await world.person('trailed');
    const { page, context, said } = await openAdmin('audit');
    await page.getByLabel('What happened').selectOption({ label: 'logged in' });
    await page.getByLabel('Person').selectOption({ label: name });
    const entries = page.getByRole('list', { name: 'Audit trail' }).getByRole('listitem');
    await entries.filter({ hasText: name }).first().waitFor();
    await expect.poll(() => entries.count()).toBe(1);
    expect(said).toEqual([]);
    await context.close();
  });

  test('it is as accessible in Chinese, in the dark and on a phone', async () => {
    const { page, context, said } = await openAdmin('storages', {
      locale: 'zh-CN',
      colorScheme: 'dark',
      viewport: { width: 390, height: 800 },
    });
    await page.getByRole('list', { name: '存储' }).getByText('/local').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: '添加存储' }).click();
    await page.getByRole('button', { name: 'S3' }).click();
    await page.getByLabel('存储桶', { exact: true }).waitFor();
    for (const summary of await page.locator('summary').all()) await summary.click();
    await expectAccessible(page);
    const words = (await page.getByRole('dialog').locator('label, .note').allTextContents()).filter(Boolean);
    expect(words.filter((text) => !/\p{Script=Han}/u.test(text))).toEqual([]);
    // Nothing of a page is aside of the screen, what is for the ear alone neither.
    await page.goto(`${world.base}/@admin/rules`);
    await page.locator('.effect tbody tr').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(said).toEqual([]);
    await context.close();
  });
});
