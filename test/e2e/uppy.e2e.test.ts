import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeContent, generateContent, type HttpServer, isAvailable, isMissing, makeTempDir, startStandalone } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { authorization, filePath } from './support/files.ts';
import { startUploadProxy, type UploadProxy } from './support/upload-proxy.ts';
import { openUppy, startUppyPage } from './support/uppy.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
/** The whole of it: 4096. */
const SIZE_MIB = Number(process.env['WHARF_E2E_UPPY_MIB'] ?? 12);
const SIZE_BYTES = SIZE_MIB * MIB + 7;
/** A small file has three minutes, and each MiB of a big one a second. */
const WITHIN_MS = Math.max(180_000, SIZE_MIB * 1000);

const found = await openBrowser();

describe.runIf(isAvailable('chromium', found))('uploads by Uppy in a browser, from a page of another origin', () => {
  const browser = found as Browser;
  let files: Awaited<ReturnType<typeof makeTempDir>>;
  let world: World;
  let proxy: UploadProxy;
  let site: HttpServer;
  let context: BrowserContext;
  let page: Page;
  /** Requests to Wharf: the method and, where bytes came, where they begin. */
  let sent: string[];
  const file = () => join(files.path, 'big ü.bin');

  beforeAll(async () => {
    files = await makeTempDir('uppy');
    await pipeline(generateContent('uppy', SIZE_BYTES), createWriteStream(file()));
    site = await startUppyPage();
    world = await openWorld(startStandalone, { env: { WHARF_CORS_ORIGINS: site.url } });
    proxy = await startUploadProxy(world.base);
  }, WITHIN_MS);
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    sent = [];
    page.on('request', (request) => {
      const isBytes = request.method() === 'PATCH';
      if (request.url().startsWith(proxy.base)) sent.push(isBytes ? `from ${request.headers()['upload-offset']}` : request.method());
    });
  });
  afterEach(async () => {
    proxy.release();
    await context.close();
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await proxy?.stop();
    await world?.close();
    await site?.stop();
    await files?.remove();
  });

  /** Opens a page that uploads to a folder of its own. @returns its path in the tree and on the disk */
  const openFor = async (purpose: string) => {
    const folder = await world.folder(purpose);
    const open = () =>
      openUppy(page, site.url, {
        base: proxy.base,
        headers: { ...authorization(world.admin), ...filePath(`${folder.path}/`) },
        chunkBytes: MIB,
      });
    await open();
    return { ...folder, open };
  };
  const choose = () => page.locator('input').setInputFiles(file());
  const expectArrived = async (disk: string) => {
    await page.waitForFunction('window.ended !== undefined', undefined, { timeout: WITHIN_MS });
    expect(await page.evaluate('window.ended')).toEqual({ successful: 1, failed: [] });
    expect(await readdir(disk)).toEqual(['big ü.bin']);
    const stored = createHash('sha256');
    for await (const piece of createReadStream(join(disk, 'big ü.bin'))) stored.update(piece);
    expect(stored.digest('hex')).toBe(describeContent('uppy', SIZE_BYTES).sha256);
    expect((await world.admin.get('/api/admin/upload/list')).data).toMatchObject({ content: [], total: 0 });
  };
  /** Where bytes began that were sent since the last look. */
  const sentFrom = () => sent.splice(0).flatMap((each) => (each.startsWith('from ') ? [Number(each.slice(5))] : []));

  test('go on after a reload where they were, once the file is chosen again', { timeout: WITHIN_MS }, async () => {
    const { disk, open } = await openFor('reloaded');
    const held = proxy.holdAfter(4);
    await choose();
    await held;
    await open();
    sent = [];
    proxy.release();
    await choose();
    await expectArrived(disk);
    // It was found again, not begun anew, and nothing that was acknowledged was sent again.
    expect(sent).toContain('HEAD');
    expect(sent).not.toContain('POST');
    expect(sentFrom()[0]).toBeGreaterThanOrEqual(4 * MIB);
  });

  test('are paused and resumed', { timeout: WITHIN_MS }, async () => {
    const { disk } = await openFor('paused');
    const held = proxy.holdAfter(2);
    await choose();
    await held;
    await page.evaluate('uppy.pauseAll()');
    expect(await page.evaluate('window.ended')).toBeUndefined();
    sent = [];
    proxy.release();
    await page.evaluate('uppy.resumeAll()');
    await expectArrived(disk);
    expect(sentFrom()[0]).toBeGreaterThanOrEqual(2 * MIB);
  });

  test('outlive a Wharf that is killed', { timeout: WITHIN_MS }, async () => {
    const { disk } = await openFor('killed');
    const held = proxy.holdAfter(3);
    await choose();
    await held;
    await world.wharf.kill();
    proxy.release();
    await page.waitForRequest((request) => request.method() === 'HEAD' && request.url().startsWith(proxy.base));
    sent = [];
    await world.wharf.restart();
    await expectArrived(disk);
    expect(sentFrom()[0]).toBeGreaterThanOrEqual(3 * MIB);
  });
});
