import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import {
  ensureCommand,
  freePort,
  isAvailable,
  isMissing,
  startApacheDav,
  startCephRgw,
  startFtpServer,
  startSamba,
  startSshServer,
  startStandalone,
} from '@wharf/harness';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { fetchFile, put } from './support/files.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();
const apache = await startApacheDav();
const sshd = await startSshServer();
const rgw = await startCephRgw();
const samba = await startSamba();
const ftp = await startFtpServer({ software: 'vsftpd', tls: 'explicit' });
const rclone = await ensureCommand('rclone', 'rclone');
const BUCKET = 'forms';

describe.runIf(isAvailable('chromium', found))('the forms of storages', () => {
  let world: PageWorld;

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    for (const server of [apache, sshd, rgw, samba, ftp]) if (!isMissing(server)) await server.stop();
    await world?.close();
  });

  const openForm = async (kind: RegExp) => {
    const opened = await world.open(world.admin.token ?? '', '/@admin/storages');
    const { page } = opened;
    await page.getByRole('button', { name: 'Add a storage' }).click();
    await page.getByRole('list', { name: 'Kinds of storage' }).getByRole('button', { name: kind }).click();
    return { ...opened, dialog: page.getByRole('dialog') };
  };
  /** Tries what the form has, and adds it. */
  const addIt = async (page: Page) => {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Try it' }).click();
    await dialog.getByText('It works.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Add a storage' }).click();
    await page.getByText('The storage is added').waitFor();
  };
  const editForm = async (page: Page, mount: string) => {
    await page.getByRole('button', { name: `Edit ${mount}` }).click();
    const dialog = page.getByRole('dialog', { name: `Edit “${mount}”` });
    await dialog.getByLabel('Where it appears').waitFor();
    return dialog;
  };
  /** Each value that a field of the page has. */
  const values = (page: Page) =>
    page.evaluate("[...document.querySelectorAll('input, textarea, select')].map(({ value }) => value).join(' ')");
  const names = async (path: string) => {
    const { data } = await world.admin.post('/api/fs/list', { path, refresh: true });
    return (data as { content: { name: string }[] }).content.map(({ name }) => name);
  };

  test('an alias shows the folders that stand in its lines as one', async () => {
    const folder = await world.folder('aliased');
    for (const name of ['one', 'two']) {
      await mkdir(join(folder.disk, name));
      await writeFile(join(folder.disk, name, `${name}.txt`), name);
    }
    const { page, context, dialog, said } = await openForm(/^Alias/);
    const mount = `/${world.unique('alias')}`;
    await dialog.getByLabel('Where it appears').fill(mount);
    await dialog.getByLabel('Folders of the tree').fill(`all:${folder.path}/one\nall:${folder.path}/two`);
    await addIt(page);
    expect(await names(mount)).toEqual(['one.txt', 'two.txt']);
    const form = await editForm(page, mount);
    expect(await form.getByLabel('Folders of the tree').inputValue()).toBe(`all:${folder.path}/one\nall:${folder.path}/two`);
    expect(said).toEqual([]);
    await context.close();
  });

  test('an S3 storage begins with what its vendor has, and another vendor takes the place of the first', async () => {
    const { context, dialog, said } = await openForm(/^S3/);
    await dialog.getByLabel('Vendor').selectOption('Backblaze B2');
    await dialog.getByLabel('Vendor').selectOption('Hetzner');
    expect(await dialog.getByLabel('Endpoint').inputValue()).toBe('https://fsn1.your-objectstorage.com');
    expect(await dialog.getByLabel('Region').inputValue()).toBe('fsn1');
    await dialog.getByText('More of S3').click();
    expect(await dialog.getByRole('switch', { name: 'Bucket in the path' }).isChecked()).toBe(false);
    expect(said).toEqual([]);
    await context.close();
  });

  test('an encrypted folder encrypts, and neither of its passwords is shown again', async () => {
    const folder = await world.folder('crypted');
    const { page, context, dialog, said } = await openForm(/^Crypt/);
    const mount = `/${world.unique('crypt')}`;
    await dialog.getByLabel('Where it appears').fill(mount);
    await dialog.getByLabel('Folder with the encrypted files').fill(folder.path);
    await dialog.getByLabel('Names of files').selectOption({ label: 'Encrypted' });
    await dialog.getByLabel('Encrypt names of folders').selectOption({ label: 'Yes' });
    await dialog.getByLabel('Password', { exact: true }).fill('first-secret');
    await dialog.locator('summary').first().click();
    await dialog.getByLabel('Second password').fill('second-secret');
    expect(await dialog.getByLabel('Second password').getAttribute('type')).toBe('password');
    await addIt(page);
    expect(await put(world.admin, world.base, `${mount}/plain.txt`, 'plain words')).toMatchObject({ code: 200 });
    expect(await names(mount)).toEqual(['plain.txt']);
    const [stored = ''] = await readdir(folder.disk);
    expect(stored).not.toContain('plain');
    expect(await readFile(join(folder.disk, stored), 'latin1')).not.toContain('plain words');

    const form = await editForm(page, mount);
    await form.getByText('Saved, and not shown again').first().waitFor();
    expect(await values(page)).not.toContain('-secret');
    await expectAccessible(page);
    for (const summary of await form.locator('summary').all()) await summary.click();
    await form.getByLabel('Note', { exact: true }).fill('kept');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await names(mount)).toEqual(['plain.txt']);

    const again = await editForm(page, mount);
    await again.getByRole('button', { name: 'Replace: Password' }).press('Enter');
    await expect.poll(() => page.evaluate('[document.activeElement.type, document.activeElement.value].join()')).toBe('password,');
    expect(await again.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await again.getByLabel('Password', { exact: true }).fill('another-one');
    await again.getByRole('button', { name: 'Save' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await names(mount)).toEqual([]);
    expect(said).toEqual([]);
    await context.close();
  });

  test('files on the web are listed by the lines of the form, and a line that is none is told', async () => {
    const { page, context, dialog, said } = await openForm(/^UrlTree/);
    const mount = `/${world.unique('urls')}`;
    await dialog.getByLabel('Where it appears').fill(mount);
    const lines = dialog.getByLabel('Files and their addresses');
    expect(await lines.inputValue()).toContain('\n');
    await lines.fill('papers:\n  this is no address');
    await dialog.getByRole('button', { name: 'Try it' }).click();
    await dialog.locator('.problem').filter({ hasText: /\w/ }).first().waitFor();
    await lines.fill('papers:\n  one.txt:12:https://files.example.org/one.txt');
    await addIt(page);
    expect(await names(`${mount}/papers`)).toEqual(['one.txt']);
    expect(said).toEqual([]);
    await context.close();
  });

  test.runIf(isAvailable('apache2', apache))(
    'a WebDAV server that does not let us in is told, and works with the right password',
    async () => {
      if (isMissing(apache)) return;
      await writeFile(join(apache.folder, 'there.txt'), 'there');
      const { page, context, dialog, said } = await openForm(/^WebDav/);
      const mount = `/${world.unique('dav')}`;
      await dialog.getByLabel('Where it appears').fill(mount);
      await dialog.getByLabel('Address', { exact: true }).fill(apache.url);
      await dialog.getByLabel('Username', { exact: true }).fill(apache.username);
      await dialog.getByLabel('Password', { exact: true }).fill('not this one');
      await dialog.getByRole('button', { name: 'Try it' }).click();
      await dialog
        .locator('.problem')
        .filter({ hasText: /login|password|let/i })
        .first()
        .waitFor();
      await expectAccessible(page);
      await dialog.getByLabel('Password', { exact: true }).fill(apache.password);
      await addIt(page);
      expect(await names(mount)).toContain('there.txt');
      await editForm(page, mount);
      expect(await values(page)).not.toContain(apache.password);
      expect(said).toEqual([]);
      await context.close();
    },
  );

  /** Fills in fields by their labels, opening what is folded away. */
  const fill = async (dialog: Locator, values: Readonly<Record<string, string>>) => {
    for (const summary of await dialog.locator('summary').all()) await summary.click();
    for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label, { exact: true }).fill(value);
  };
  /** A storage that is written to and read, whose form is saved again, and shows no secret. */
  const expectUsable = async (page: Page, mount: string, secret: string) => {
    expect(await put(world.admin, world.base, `${mount}/by form.txt`, 'by form')).toMatchObject({ code: 200 });
    const form = await editForm(page, mount);
    expect(await values(page)).not.toContain(secret);
    await fill(form, { Note: 'saved again' });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await names(mount)).toContain('by form.txt');
    expect((await fetchFile(world.admin, world.base, `${mount}/by form.txt`)).body.toString()).toBe('by form');
  };

  test.runIf(isAvailable('sshd', sshd))('a folder of an SSH server', async () => {
    if (isMissing(sshd)) return;
    const { page, context, dialog, said } = await openForm(/^SFTP/);
    const mount = `/${world.unique('sftp')}`;
    const where = { 'Where it appears': mount, Address: `${sshd.host}:${sshd.port}`, Folder: sshd.rootPath };
    await fill(dialog, { ...where, Username: sshd.username, Password: sshd.password });
    await addIt(page);
    await expectUsable(page, mount, sshd.password);
    expect(said).toEqual([]);
    await context.close();
  });

  test.runIf(isAvailable('Ceph RGW', rgw))('a bucket', async () => {
    if (isMissing(rgw)) return;
    const sdk = new S3Client({
      endpoint: rgw.url,
      region: rgw.region,
      credentials: { accessKeyId: rgw.accessKeyId, secretAccessKey: rgw.secretAccessKey },
      forcePathStyle: true,
    });
    await sdk.send(new CreateBucketCommand({ Bucket: BUCKET }));
    sdk.destroy();
    const { page, context, dialog, said } = await openForm(/^S3/);
    const mount = `/${world.unique('s3')}`;
    const where = { 'Where it appears': mount, Bucket: BUCKET, Endpoint: rgw.url, Region: rgw.region };
    await fill(dialog, { ...where, 'Access key ID': rgw.accessKeyId, 'Secret access key': rgw.secretAccessKey });
    await dialog.getByRole('switch', { name: 'Bucket in the path' }).check();
    await dialog.getByRole('switch', { name: 'Downloads pass through this server' }).check();
    await addIt(page);
    await expectUsable(page, mount, rgw.secretAccessKey);
    expect(said).toEqual([]);
    await context.close();
  });

  test.runIf(isAvailable('samba', samba))('a share of Windows', async () => {
    if (isMissing(samba)) return;
    const { page, context, dialog, said } = await openForm(/^SMB/);
    const mount = `/${world.unique('smb')}`;
    const where = { 'Where it appears': mount, Address: `${samba.host}:${samba.port}`, Share: samba.share };
    await fill(dialog, { ...where, Username: samba.username, Password: samba.password });
    await addIt(page);
    await expectUsable(page, mount, samba.password);
    expect(said).toEqual([]);
    await context.close();
  });

  test.runIf(isAvailable('vsftpd', ftp))('a folder of an FTP server, whose certificate nobody else signed', async () => {
    if (isMissing(ftp)) return;
    const { page, context, dialog, said } = await openForm(/^FTP/);
    const mount = `/${world.unique('ftp')}`;
    const where = { 'Where it appears': mount, Address: `${ftp.host}:${ftp.port}`, 'Certificate to trust': ftp.certificate };
    await fill(dialog, { ...where, Username: ftp.username, Password: ftp.password });
    await addIt(page);
    await expectUsable(page, mount, ftp.password);
    expect(said).toEqual([]);
    await context.close();
  });

  describe.runIf(isAvailable('rclone', rclone) && isAvailable('apache2', apache))('by rclone', () => {
    if (isMissing(apache)) return;
    const typeOf = (dialog: Locator) => dialog.getByLabel('Type', { exact: true });

    test('a WebDAV server, by fields that rclone describes', async () => {
      const { page, context, dialog, said } = await openForm(/^Rclone/);
      const mount = `/${world.unique('by-rclone')}`;
      await dialog.getByLabel('Where it appears').fill(mount);
      await typeOf(dialog).selectOption({ label: 'WebDAV' });
      await dialog.getByText('URL of http host to connect to.').waitFor();
      expect(await dialog.getByLabel('Address', { exact: true }).getAttribute('required')).not.toBeNull();
      expect(await dialog.getByRole('button', { name: 'Add a storage' }).isDisabled()).toBe(true);
      await dialog.getByLabel('Address', { exact: true }).fill(apache.url);
      await dialog.getByLabel('Vendor', { exact: true }).selectOption({ label: 'Owncloud' });
      await dialog.getByLabel('Username', { exact: true }).fill(apache.username);
      expect(await dialog.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('password');
      await dialog.getByLabel('Password', { exact: true }).fill('not this one');
      // Nothing is left that has to be written by hand.
      await dialog.getByText('More of Rclone').click();
      expect(await dialog.getByLabel('Options', { exact: true }).count()).toBe(0);
      await dialog.getByRole('button', { name: 'Try it' }).click();
      await dialog.locator('.problem').filter({ hasText: 'does not let' }).first().waitFor();
      await dialog.getByLabel('Password', { exact: true }).fill(apache.password);
      await addIt(page);
      await expectUsable(page, mount, apache.password);

      const form = await editForm(page, mount);
      await form.getByRole('button', { name: 'Replace: Password' }).press('Enter');
      await expect.poll(() => page.evaluate('[document.activeElement.type, document.activeElement.value].join()')).toBe('password,');
      expect(await form.getByLabel('Address', { exact: true }).inputValue()).toBe(apache.url);
      await form.getByLabel('Password', { exact: true }).fill('another-one');
      await form.getByRole('button', { name: 'Try it' }).click();
      await form.locator('.problem').filter({ hasText: 'does not let' }).first().waitFor();
      // Another type has nothing of the saved one, which comes back with it.
      await typeOf(form).selectOption('http');
      await form.getByText('URL of HTTP host to connect to.').waitFor();
      expect(await form.getByLabel('Address', { exact: true }).inputValue()).toBe('');
      await typeOf(form).selectOption('webdav');
      await form.getByText('Saved, and not shown again').waitFor();
      expect(await form.getByLabel('Address', { exact: true }).inputValue()).toBe(apache.url);
      expect(await values(page)).not.toContain(apache.password);
      await form.getByRole('button', { name: 'Try it' }).click();
      await form.getByText('It works.').waitFor();
      expect(said).toEqual([]);
      await context.close();
    });

    test('one that was written by hand is shown in the same fields, and what was among its secrets is not', async () => {
      const mount = `/${world.unique('by-hand')}`;
      const addition = JSON.stringify({
        type: 'webdav',
        options: `url=${apache.url}\n\nvendor =   owncloud`,
        secrets: `pass = ${apache.password}\nuser = ${apache.username}`,
        root_folder_path: '/',
      });
      await world.admin.call('/api/admin/storage/create', { mount_path: mount, driver: 'Rclone', addition });
      const { page, context, said } = await world.open(world.admin.token ?? '', '/@admin/storages');
      const form = await editForm(page, mount);
      await form.getByRole('button', { name: 'Replace: Username' }).waitFor();
      await form.getByRole('button', { name: 'Replace: Password' }).waitFor();
      expect(await form.getByLabel('Address', { exact: true }).inputValue()).toBe(apache.url);
      expect(await values(page)).not.toContain(apache.password);
      await form.getByRole('button', { name: 'Replace: Username' }).press('Enter');
      await form.getByLabel('Username', { exact: true }).fill(apache.username);
      await expectAccessible(page);
      await form.getByRole('button', { name: 'Save' }).click();
      await form.waitFor({ state: 'detached' });
      expect(await put(world.admin, world.base, `${mount}/by hand.txt`, 'by hand')).toMatchObject({ code: 200 });
      // What fields wrote is an object; another user than the one that was saved is no secret.
      const { data } = await world.admin.get('/api/admin/storage/list');
      const { addition: kept } = (data as { content: { mount_path: string; addition: string }[] }).content.find(
        ({ mount_path }) => mount_path === mount,
      ) ?? { addition: '{}' };
      const { options, secrets } = JSON.parse(kept);
      expect(JSON.parse(options)).toEqual({ url: apache.url, vendor: 'owncloud', user: apache.username });
      expect(JSON.parse(secrets)).toEqual({ pass: apache.password });
      expect(said).toEqual([]);
      await context.close();
    });

    test('what a vendor has is offered once it is chosen, by keys, and anything else can be written', async () => {
      const { page, context, dialog, said } = await openForm(/^Rclone/);
      await typeOf(dialog).selectOption('s3');
      const provider = dialog.getByLabel('Provider', { exact: true });
      await provider.waitFor();
      const endpoint = dialog.getByLabel('Endpoint', { exact: true });
      expect(await endpoint.evaluate((element) => element.tagName)).toBe('INPUT');
      await provider.focus();
      await page.keyboard.type('Scaleway');
      await dialog.locator('select').filter({ hasText: 's3.fr-par.scw.cloud' }).waitFor();
      expect(await provider.evaluate((element) => element.matches(':focus'))).toBe(true);
      await endpoint.selectOption('s3.nl-ams.scw.cloud');
      await endpoint.selectOption({ label: 'Another value' });
      await dialog.getByLabel('Endpoint: another value').fill('https://s3.example.org');
      expect(await dialog.getByRole('switch', { name: 'No check bucket' }).isVisible()).toBe(false);
      await dialog.getByText('More options of s3').press('Enter');
      await dialog.getByRole('switch', { name: 'No check bucket' }).check();
      await expectAccessible(page);
      expect(said).toEqual([]);
      await context.close();
    });

    test('types, where the rclone that is named does not answer, are written by hand', async () => {
      const { context, dialog, said } = await openForm(/^Rclone/);
      await typeOf(dialog).selectOption({ label: 'b2 – Backblaze B2' });
      await dialog.getByText('Application Key.', { exact: true }).waitFor();
      await dialog.getByLabel('Account', { exact: true }).fill('an-account');
      await dialog.getByText('More of Rclone').click();
      const other = dialog.getByLabel('Another rclone', { exact: true });
      await other.fill(`http://127.0.0.1:${await freePort()}`);
      await dialog.getByRole('alert').filter({ hasText: 'cannot be listed' }).waitFor();
      expect(await dialog.getByLabel('Options', { exact: true }).inputValue()).toBe('{\n  "account": "an-account"\n}');
      await other.fill('');
      await dialog.getByText('Application Key.', { exact: true }).waitFor();
      expect(await dialog.getByLabel('Account', { exact: true }).inputValue()).toBe('an-account');
      expect(said).toEqual([]);
      await context.close();
    });
  });

  test('files that are nowhere', async () => {
    const { page, context, dialog, said } = await openForm(/^Virtual/);
    const mount = `/${world.unique('virtual')}`;
    await fill(dialog, { 'Where it appears': mount, 'Files in each folder': '7', 'Folders in each folder': '2' });
    await addIt(page);
    expect(await names(mount)).toHaveLength(9);
    expect(said).toEqual([]);
    await context.close();
  });

  test.each(['OpenList', 'AList V3'])('another gateway, as %s', async (kind) => {
    const other = await startStandalone();
    try {
      const { page, context, dialog, said } = await openForm(new RegExp(`^${kind}`));
      const mount = `/${world.unique('other')}`;
      const where = { 'Where it appears': mount, Address: other.base, Folder: '/local' };
      await fill(dialog, { ...where, Username: 'admin', Password: other.adminPassword });
      await dialog.getByRole('switch', { name: 'Downloads pass through this server' }).check();
      await addIt(page);
      await expectUsable(page, mount, other.adminPassword);
      expect(said).toEqual([]);
      await context.close();
    } finally {
      await other.stop();
    }
  });

  test('films as addresses', async () => {
    const folder = await world.folder('films');
    await writeFile(join(folder.disk, 'one.mkv'), 'film');
    const { page, context, dialog, said } = await openForm(/^Strm/);
    const mount = `/${world.unique('strm')}`;
    await fill(dialog, { 'Where it appears': mount, 'Folders of the tree': folder.path, 'Address of this server': world.base });
    await addIt(page);
    expect(await names(mount)).toEqual(['one.strm']);
    expect((await fetchFile(world.admin, world.base, `${mount}/one.strm`)).body.toString()).toContain(
      `${world.base}/d${folder.path}/one.mkv`,
    );
    expect(said).toEqual([]);
    await context.close();
  });
});
