import { isAvailable, isMissing, login } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { totpCode } from './support/totp.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();

const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMyqkS2YL7pnzSxAFyz7WuAcfa9vW40hOGmDf2oY5/Jv ann@laptop';

describe.runIf(isAvailable('chromium', found))('the account', () => {
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  test('is a menu away from the files; what somebody may do is said in words', async () => {
    const { token, name } = await world.person('rights', { permission: 0b1000, quota_bytes: 5_000_000 });
    const { page, context, said } = await world.open(token, '/');
    await page.getByRole('button', { name }).click();
    await page.getByRole('menuitem', { name: 'Administration' }).waitFor({ state: 'detached' });
    await page.getByRole('menuitem', { name: 'Account' }).click();
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await page.getByRole('list', { name: 'Your rights' }).getByText('Upload and make folders').waitFor();
    await page.getByText('5 MB').waitFor();
    await expectAccessible(page);
    await page.goBack();
    await page.getByRole('grid').waitFor();
    expect(said).toEqual([]);
    await context.close();
  });

  test('a new password keeps this login and ends the others', async () => {
    const { token, name, password } = await world.person('password');
    const other = await login(world.base, name, password);
    const { page, context, said } = await world.open(token, '/@account');
    await page.getByLabel('New password', { exact: true }).fill('another-good-password');
    await page.getByLabel('New password', { exact: true }).press('Enter');
    await page.getByText('Your password is changed').waitFor();
    await expect.poll(async () => (await other.get('/api/me')).code).toBe(401);
    await page.getByRole('link', { name: 'Logins' }).click();
    const rows = page.getByRole('list', { name: 'Logins' }).getByRole('listitem');
    await rows.getByText('This one').waitFor();
    expect(await rows.count()).toBe(1);
    await rows.getByText('Chrome on Linux').waitFor();
    await login(world.base, name, 'another-good-password');
    expect(said).toEqual([]);
    await context.close();
  });

  test('two steps are set up by the keyboard alone, with recovery codes that log in', async () => {
    const { token, name, password } = await world.person('steps');
    const { page, context, said } = await world.open(token, '/@account/two-step');
    await page.getByRole('button', { name: 'Set up' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Set up' });
    await dialog.getByRole('img', { name: /QR code/ }).waitFor();
    await expectAccessible(page);
    const secret = ((await dialog.locator('.qr-secret').textContent()) ?? '').replace(/\s/g, '');
    await dialog.getByLabel('Code of the app').focus();
    await page.keyboard.type('000000');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').filter({ hasText: /code/i }).waitFor();
    await dialog.getByLabel('Code of the app').fill('');
    await page.keyboard.type(totpCode(secret));
    await page.keyboard.press('Enter');
    const codes = page.getByRole('dialog', { name: 'Recovery codes' });
    await codes.getByLabel('Code', { exact: true }).focus();
    await page.keyboard.type(totpCode(secret, 1));
    await page.keyboard.press('Enter');
    await codes.getByText('They are shown this once').waitFor();
    await expectAccessible(page);
    const recovery = ((await codes.locator('pre').textContent()) ?? '').split('\n');
    expect(recovery.length).toBe(10);
    const answer = await fetch(`${world.base}/api/auth/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: name, password, otp_code: recovery[3] }),
    });
    expect(await answer.json()).toMatchObject({ code: 200 });
    await codes.getByRole('button', { name: 'I have kept it' }).press('Enter');
    await page.getByText('On', { exact: true }).waitFor();
    expect(said).toEqual([]);
    await context.close();
  });

  test('app passwords and keys are made, shown and taken back', async () => {
    const { token } = await world.person('keys');
    const { page, context, said } = await world.open(token, '/@account/app-passwords');
    await page.getByText('No app passwords yet').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByLabel('For which program').fill('The backup');
    await page.getByLabel('SFTP').check();
    await page.getByLabel('Only reads').check();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create' }).click();
    expect(await page.getByRole('dialog').locator('pre').textContent()).toMatch(/^(?:\w{5}-){4}\w{5}$/);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'The backup' });
    for (const word of ['WebDAV', 'SFTP', 'Only reads', 'never used']) await row.getByText(word).waitFor();
    await row.getByRole('button', { name: 'Remove The backup' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No app passwords yet').waitFor();

    await page.getByRole('link', { name: 'SSH keys' }).click();
    await page.getByRole('button', { name: 'Add a key' }).click();
    await page.getByLabel('Public key').fill('nothing');
    await page.getByRole('dialog').getByRole('button', { name: 'Add a key' }).click();
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: /key/ }).waitFor();
    await page.getByLabel('Public key').fill(PUBLIC_KEY);
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Add a key' }).click();
    await page.getByRole('listitem').filter({ hasText: 'ann@laptop' }).getByText('SHA256:', { exact: false }).waitFor();
    await expectAccessible(page);
    expect(said).toEqual([]);
    await context.close();
  });

  test('other logins are ended, one or all of them', async () => {
    const { token, name, password } = await world.person('logins');
    const others = await Promise.all([
      login(world.base, name, password),
      login(world.base, name, password),
      login(world.base, name, password),
    ]);
    const { page, context, said } = await world.open(token, '/@account/sessions');
    await page.getByRole('listitem').filter({ hasText: 'This one' }).waitFor();
    await expectAccessible(page);
    const ends = page.getByRole('button', { name: /: Log out$/ });
    await ends.first().click();
    await expect.poll(() => ends.count()).toBe(2);
    await page.getByRole('button', { name: 'Log out everywhere else' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out everywhere else' }).click();
    await page.getByText('All other logins have ended').waitFor();
    expect(await ends.count()).toBe(0);
    for (const other of others) expect(await other.get('/api/me')).toMatchObject({ code: 401 });
    expect(said).toEqual([]);
    await context.close();
  });

  test('is as accessible in Chinese, in the dark and on a phone', async () => {
    const { token } = await world.person('looks');
    const { page, context } = await world.open(token, '/@account', {
      locale: 'zh-CN',
      colorScheme: 'dark',
      viewport: { width: 390, height: 800 },
    });
    await page.getByRole('heading', { name: '个人资料' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: '菜单' }).click();
    await page.getByRole('link', { name: '登录设备' }).click();
    await page.getByText('当前设备').waitFor();
    await expectAccessible(page);
    await context.close();
  });
});
