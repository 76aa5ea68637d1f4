import { api, at, isAvailable, isMissing, login } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('the page of people', () => {
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  const me = async (name: string, password: string) => (await (await login(world.base, name, password)).get('/api/me')).data;

  test('somebody is invited with a folder, rights in words and room, changed, locked out and removed', async () => {
    const folder = await world.folder('theirs');
    const name = world.unique('ann');
    const { page, context, said } = await world.open(world.admin.token ?? '', '/@admin/users');
    const row = page.getByRole('listitem').filter({ hasText: name });
    await page.getByRole('button', { name: 'Invite somebody' }).click();
    const invite = page.getByRole('dialog');
    await invite.getByLabel('Name', { exact: true }).fill(name);
    await invite.getByLabel('Folder', { exact: true }).fill(folder.path);
    await invite.getByLabel('May do').selectOption({ label: 'Changes files' });
    await invite.getByLabel('Room in GB').fill('1.5');
    await expectAccessible(page);
    await invite.getByRole('button', { name: 'Invite somebody' }).click();
    // Nobody gave one, so the page made one, and shows it once.
    const shown = page.getByRole('dialog', { name: `${name} may come in` });
    await shown.getByText('shown this once', { exact: false }).waitFor();
    const password = /Password: (\S+)/.exec((await shown.locator('pre').textContent()) ?? '')?.[1] ?? '';
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row.getByText(`Changes files · ${folder.path} · up to 1.5 GB`).waitFor();
    expect(await me(name, password)).toMatchObject({ base_path: folder.path, permission: 0b1111_1000 });

    await row.getByRole('button', { name: `Edit ${name}` }).click();
    const edit = page.getByRole('dialog', { name: `Edit “${name}”` });
    await edit.getByText('Each right by itself').click();
    await edit.getByLabel('Delete', { exact: true }).uncheck();
    await edit.getByLabel('New password').fill('another-good-one');
    await expectAccessible(page);
    await edit.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Rights of its own', { exact: false }).waitFor();
    expect(Number(at(await me(name, 'another-good-one'), 'permission')) & (1 << 7)).toBe(0);
    await expect(login(world.base, name, password)).rejects.toThrow();

    const loggedIn = await login(world.base, name, 'another-good-one');
    await row.getByRole('button', { name: `Edit ${name}` }).click();
    await edit.getByRole('switch', { name: 'Locked out' }).check();
    await edit.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Locked out', { exact: true }).waitFor();
    expect(await api(world.base, loggedIn.token).get('/api/me')).toMatchObject({ code: 401 });

    await row.getByRole('button', { name: `Remove ${name}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    // Rows have no role while a dialog is over them: the row is seen to be gone only after it.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    expect(JSON.stringify((await world.admin.get('/api/admin/user/list')).data)).not.toContain(name);
    expect(said).toEqual([]);
    await context.close();
  });

  test('guests come in when the page lets them, and see what they may', async () => {
    const { page, context, said } = await world.open(world.admin.token ?? '', '/@admin/users');
    const guest = page.getByRole('listitem').filter({ hasText: 'Guest' });
    const asGuest = () => api(world.base).post('/api/fs/list', { path: '/' });
    expect(await asGuest()).toMatchObject({ code: 401 });
    for (const [isOn, code] of [
      [true, 200],
      [false, 401],
    ] as const) {
      await guest.getByRole('button', { name: /^Edit/ }).click();
      await page
        .getByRole('dialog')
        .getByRole('switch', { name: /guests/i })
        .setChecked(isOn);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(async () => (await asGuest()).code).toBe(code);
    }
    expect(said).toEqual([]);
    await context.close();
  });
});
