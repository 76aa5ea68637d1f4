import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeContent, generateContent, isAvailable, isMissing, makeTempDir, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { saveSettings } from './support/settings.ts';
import { startUploadProxy, type UploadProxy } from './support/upload-proxy.ts';
import { buildWebPage, expectAccessible, openTab, watchPage } from './support/web-page.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
/** Of the big file; 4096 for a long run. */
const SIZE_MIB = Number(process.env['WHARF_E2E_PAGE_MIB'] ?? 12);
const WITHIN_MS = 180_000 + SIZE_MIB * 500;

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('uploads of the web page behind a proxy', () => {
  const browser = found as Browser;
  let files: Awaited<ReturnType<typeof makeTempDir>>;
  let world: World;
  let proxy: UploadProxy;
  let context: BrowserContext;
  let page: Page;
  let said: readonly string[];
  const big = { name: 'big ü.bin', sha256: '' };

  beforeAll(async () => {
    const built = await buildWebPage();
    files = await makeTempDir('web-uploads');
    await pipeline(generateContent('page', SIZE_MIB * MIB + 7), createWriteStream(join(files.path, big.name)));
    big.sha256 = describeContent('page', SIZE_MIB * MIB + 7).sha256;
    world = await openWorld(startStandalone, { env: { WHARF_WEB_DIR: built.path } });
    proxy = await startUploadProxy(world.base);
  }, WITHIN_MS + 120_000);
  beforeEach(async () => {
    context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    proxy.maxBodyBytes = Number.POSITIVE_INFINITY;
    await setPartSize(1);
  });
  afterEach(async () => {
    proxy.release();
    await context.close();
    const { data } = await world.admin.get('/api/fs/multipart/list');
    for (const { upload_id } of (data as { content: { upload_id: string }[] }).content)
      await world.admin.call(`/api/admin/upload/abort?upload_id=${upload_id}`, {});
    expect(said).toEqual([]);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await proxy?.stop();
    await world?.close();
    await files?.remove();
  });

  /** Small parts are many, and quick. */
  const setPartSize = (mib: number) => saveSettings(world, { multipart_chunk_size: String(mib) });
  const openFolder = async (purpose: string) => {
    const folder = await world.folder(purpose);
    page = await openTab(context, proxy.base, world.admin.token ?? '', folder.path);
    said = watchPage(page);
    return folder;
  };
  const panel = () => page.getByRole('region', { name: 'Uploads' });
  const choose = async (open: () => Promise<void>, names: readonly string[]) => {
    const chooser = page.waitForEvent('filechooser');
    await open();
    await (await chooser).setFiles(names.map((name) => join(files.path, name)));
  };
  const upload = (...names: string[]) =>
    choose(async () => {
      await page.getByRole('button', { name: 'New', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Upload files' }).click();
    }, names);
  const chooseAgain = (...names: string[]) =>
    choose(
      () =>
        panel()
          .getByRole('button', { name: /^Choose the file/ })
          .click(),
      names,
    );
  const digestOf = async (path: string) => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    return hash.digest('hex');
  };
  const expectArrived = async (disk: string, name = big.name, told = '1 file uploaded') => {
    await panel().getByText(told).waitFor({ timeout: WITHIN_MS });
    expect(await digestOf(join(disk, name))).toBe(big.sha256);
    // Nothing is left beside it.
    expect(await readdir(disk)).toEqual([name]);
  };

  test('a big file goes on after a reload where it was, once it is chosen again', { timeout: 2 * WITHIN_MS }, async () => {
    const { disk } = await openFolder('reloaded');
    const held = proxy.holdAfter(2);
    await upload(big.name);
    await held;
    await page.getByText(/[1-9]\d* % · /).waitFor();
    await page.reload();
    proxy.release();
    await panel().getByText('The server has a part of this upload already.', { exact: false }).waitFor();
    await expectAccessible(page);
    // Another file of the name and the size, that was changed at another time, is not taken for it.
    const other = join(files.path, 'other');
    await writeFile(other, '');
    await chooseAgain('other');
    await page.getByText('The chosen file is none of those', { exact: false }).waitFor();
    const parts: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/multipart/chunk')) parts.push(request.headers()['x-chunk-index'] ?? '');
    });
    await chooseAgain(big.name);
    await expectArrived(disk);
    // The two that were acknowledged were not sent again.
    expect(new Set(parts).size).toBeLessThanOrEqual(SIZE_MIB + 1 - 2);
  });

  test('another file of the name and size is not taken for one that another browser began', { timeout: WITHIN_MS }, async () => {
    const { disk } = await openFolder('elsewhere');
    const date = (second: number) => utimes(join(files.path, big.name), second, second);
    await date(1_700_000_000);
    const held = proxy.holdAfter(2);
    await upload(big.name);
    await held;
    const folder = new URL(page.url()).pathname;
    await context.close();
    proxy.release();
    context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    page = await openTab(context, proxy.base, world.admin.token ?? '', folder);
    said = watchPage(page);
    await panel().getByRole('button', { name: 'Choose the file' }).waitFor();
    await date(1_700_000_005);
    await chooseAgain(big.name);
    await page.getByText('The chosen file is none of those', { exact: false }).waitFor();
    await date(1_700_000_000);
    await chooseAgain(big.name);
    await expectArrived(disk);
  });

  test.runIf(SIZE_MIB < 1_024)(
    'nor is one of another folder with its date, too: it goes on with the upload whose parts are of it',
    { timeout: WITHIN_MS },
    async () => {
      const folders = [await world.folder('twin-a'), await world.folder('twin-b')];
      const right = await readFile(join(files.path, big.name));
      const twin = Buffer.from(right).fill(1, MIB);
      const have = async (content: Buffer) => {
        await writeFile(join(files.path, big.name), content);
        await utimes(join(files.path, big.name), 1_700_000_000, 1_700_000_000);
      };
      try {
        for (const [index, { path }] of folders.entries()) {
          await have(index === 0 ? right : twin);
          page = await openTab(context, proxy.base, world.admin.token ?? '', path);
          said = watchPage(page);
          const held = proxy.holdAfter(2);
          await upload(big.name);
          await held;
          await page.getByText(/[1-9]\d* % · /).waitFor();
          await page.close({ runBeforeUnload: false });
          proxy.release();
        }
        page = await openTab(context, proxy.base, world.admin.token ?? '', '');
        said = watchPage(page);
        await panel().getByRole('button', { name: 'Choose the files' }).waitFor();
        await chooseAgain(big.name);
        await expect.poll(() => readdir(folders[1]?.disk ?? ''), { timeout: WITHIN_MS }).toEqual([big.name]);
        expect(twin.equals(await readFile(join(folders[1]?.disk ?? '', big.name)))).toBe(true);
        await panel().getByText('The server has a part of this upload already.', { exact: false }).waitFor();
      } finally {
        await have(right);
      }
      await chooseAgain(big.name);
      await expectArrived(folders[0]?.disk ?? '', big.name, '2 files uploaded');
    },
  );

  test.runIf(SIZE_MIB < 1_024)(
    'where a program began it and said no date, the server compares all parts that it has',
    { timeout: WITHIN_MS },
    async () => {
      const { disk, path } = await openFolder('unproven');
      const right = await readFile(join(files.path, big.name));
      const send = (address: string, method: string, headers: Record<string, string>, body?: Uint8Array<ArrayBuffer>) =>
        fetch(`${world.base}/api/fs/multipart/${address}`, {
          ...{ method, headers: { Authorization: world.admin.token ?? '', ...headers } },
          ...(body && { body }),
        });
      const asked = { 'File-Path': encodeURIComponent(`${path}/${big.name}`), 'X-File-Size': String(right.byteLength) };
      const begun = (await (await send('init', 'POST', asked)).json()) as { data: { upload_id: string } };
      for (const index of [0, 1]) {
        const headers = { 'X-Upload-Id': begun.data.upload_id, 'X-Chunk-Index': String(index) };
        await send('chunk', 'PUT', headers, right.subarray(index * MIB, (index + 1) * MIB));
      }
      await page.reload();
      await panel().getByRole('button', { name: 'Choose the file' }).waitFor();
      try {
        // The first part is the same.
        await writeFile(join(files.path, big.name), Buffer.from(right).fill(1, MIB));
        await chooseAgain(big.name);
        await panel().getByText('has another content', { exact: false }).waitFor();
      } finally {
        await writeFile(join(files.path, big.name), right);
      }
      await chooseAgain(big.name);
      await expectArrived(disk);
    },
  );

  test('a big file outlives a Wharf that is killed, and goes on by itself', { timeout: 2 * WITHIN_MS }, async () => {
    const { disk } = await openFolder('killed');
    const held = proxy.holdAfter(2);
    await upload(big.name);
    await held;
    await world.wharf.kill();
    proxy.release();
    await panel().getByText('Trying again.', { exact: false }).waitFor({ timeout: WITHIN_MS });
    await expectAccessible(page);
    await world.wharf.restart();
    await expectArrived(disk);
  });

  test('a proxy that refuses big bodies gets smaller ones', { timeout: WITHIN_MS }, async () => {
    proxy.maxBodyBytes = 3 * MIB;
    await setPartSize(10);
    const { disk } = await openFolder('refused');
    await upload(big.name);
    await expectArrived(disk);
    // Files that were put before are small enough now, too.
    await writeFile(join(files.path, 'middle.bin'), Buffer.alloc(4 * MIB, 7));
    await upload('middle.bin');
    await panel().getByText('2 files uploaded').waitFor();
    expect((await readFile(join(disk, 'middle.bin'))).equals(Buffer.alloc(4 * MIB, 7))).toBe(true);
  });

  test('an upload is paused, resumed and cancelled, and what the server has of it goes', { timeout: WITHIN_MS }, async () => {
    const { disk } = await openFolder('paused');
    const held = proxy.holdAfter(1);
    await upload(big.name);
    await held;
    await panel()
      .getByRole('button', { name: `Pause ${big.name}` })
      .click();
    await panel()
      .getByText(/^Paused · /)
      .waitFor();
    await expectAccessible(page);
    await panel()
      .getByRole('button', { name: `Resume ${big.name}` })
      .click();
    await panel().getByText(/ % · /).waitFor();
    await panel()
      .getByRole('button', { name: `Cancel ${big.name}` })
      .click();
    await panel().getByText('Cancelled').waitFor();
    proxy.release();
    await expect.poll(async () => (await world.admin.get('/api/fs/multipart/list')).data).toMatchObject({ total: 0 });
    expect(await readdir(disk)).toEqual([]);
    await panel()
      .getByRole('button', { name: `Upload ${big.name} again` })
      .click();
    await expectArrived(disk);
  });

  test('two hundred files that are dropped arrive', { timeout: WITHIN_MS }, async () => {
    const { disk } = await openFolder('many');
    const names = Array.from({ length: 200 }, (_, index) => `file ${index}.txt`);
    await page.getByText('This folder is empty').waitFor();
    await page.evaluate(`{
      const transfer = new DataTransfer();
      for (const name of ${JSON.stringify(names)}) transfer.items.add(new File(['of ' + name], name));
      const event = new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true });
      document.querySelector('.state').dispatchEvent(event);
    }`);
    await panel().getByText('200 files uploaded').waitFor({ timeout: WITHIN_MS });
    expect((await readdir(disk)).toSorted()).toEqual(names.toSorted());
    expect(await readFile(join(disk, 'file 77.txt'), 'utf8')).toBe('of file 77.txt');
  });
});
