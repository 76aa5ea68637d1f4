import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeContent, ensureCommand, generateContent, isAvailable, isMissing, login, makeTempDir, startNginx } from '@wharf/harness';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { measurePage } from './support/page-memory.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { startUploadProxy, type UploadProxy } from './support/upload-proxy.ts';
import { buildWebPage, openTab, watchPage } from './support/web-page.ts';

const MIB = 1024 * 1024;
/** Of the file; 4096 for a long run. */
const SIZE_MIB = Number(process.env['WHARF_E2E_PAGE_UPLOAD_MIB'] ?? 40);
const IS_LONG = SIZE_MIB >= 1_024;
/** What nginx takes as one body: less than the page's parts are at first, or what many a proxy on the way takes. */
const MAX_BODY = IS_LONG ? '100m' : '3m';
/** Parts that pass before something happens: a fifth of them. */
const PARTS = Math.max(4, Math.floor(SIZE_MIB / 8 / 5));
/** What the page may take more than at rest, whatever the file's size: a thread with what it has read and sent takes 200 MiB, and under these tools twice that. */
const MORE_MIB = 512;
/** Threads that have sent as many parts as they may, at least, where no part is larger than a body may be. */
const ENDED_THREADS = Math.floor(SIZE_MIB / 8 / 8);
const WITHIN_MS = 240_000 + SIZE_MIB * 500;
const NAME = 'big ü.bin';

const found = await openBrowser();
const nginx = await ensureCommand('nginx', 'nginx-light');

describe.runIf(isAvailable('chromium', found) && isAvailable('nginx', nginx))('a big upload of the page', () => {
  const browser = found as Browser;
  let files: Awaited<ReturnType<typeof makeTempDir>>;
  let replicas: Replicas;
  let front: Awaited<ReturnType<typeof startNginx>>;
  let proxy: UploadProxy;

  beforeAll(async () => {
    const built = await buildWebPage();
    files = await makeTempDir('page-upload');
    await pipeline(generateContent('page-upload', SIZE_MIB * MIB + 7), createWriteStream(join(files.path, NAME)));
    replicas = await startReplicas({ WHARF_WEB_DIR: built.path });
    front = await startNginx({ to: [replicas.first, replicas.second], maxBody: MAX_BODY });
    if (!isMissing(front)) proxy = await startUploadProxy(front.url);
  }, WITHIN_MS);
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await proxy?.stop();
    if (front && !isMissing(front)) await front.stop();
    await replicas?.stop();
    await files?.remove();
  });

  test(`of ${SIZE_MIB} MiB through an nginx that takes ${MAX_BODY} arrives whole, cut by a reload and by both gateways killed in turn`, {
    timeout: WITHIN_MS,
  }, async () => {
    const admin = await login(replicas.first, 'admin', replicas.adminPassword);
    const disk = join(replicas.folder, 'uploaded');
    await mkdir(join(disk, 'in'), { recursive: true });
    const addition = JSON.stringify({ root_folder_path: disk, mkdir_perm: '777' });
    await admin.call('/api/admin/storage/create', { mount_path: '/uploaded', driver: 'Local', addition });
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
    const page = await openTab(context, proxy.base, admin.token ?? '', '/uploaded/in');
    page.setDefaultTimeout(WITHIN_MS);
    const said = watchPage(page);
    let endedThreads = 0;
    page.on('worker', (thread) => thread.on('close', () => (endedThreads += 1)));
    const panel = page.getByRole('region', { name: 'Uploads' });
    const choose = async (press: () => Promise<void>) => {
      const chooser = page.waitForEvent('filechooser');
      await press();
      await (await chooser).setFiles(join(files.path, NAME));
    };
    await page.getByRole('button', { name: 'New', exact: true }).waitFor();
    const atRest = await measurePage(browser, page);

    let held = proxy.holdAfter(PARTS);
    await choose(async () => {
      await page.getByRole('button', { name: 'New', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Upload files' }).click();
    });
    await held;
    await page.reload();
    proxy.release();
    held = proxy.holdAfter(PARTS);
    await choose(() => panel.getByRole('button', { name: /^Choose the file/ }).click());
    await held;
    for (const replica of [0, 1] as const) {
      // It is killed while parts are on their way to it; the other one has to do.
      const killed = replicas.restart('api-gateway', replica);
      proxy.release();
      if (replica === 0) held = proxy.holdAfter(PARTS);
      await killed;
      if (replica === 0) await held;
    }
    await panel.getByText('1 file uploaded').waitFor();
    const atEnd = await measurePage(browser, page);

    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(disk, 'in', NAME))) hash.update(chunk);
    expect(hash.digest('hex')).toBe(describeContent('page-upload', SIZE_MIB * MIB + 7).sha256);
    // Nothing is left beside it.
    expect(await readdir(join(disk, 'in'))).toEqual([NAME]);
    if (IS_LONG) console.info(JSON.stringify({ atRest, atEnd, largestBodyMib: proxy.largestBodyBytes() / MIB }));
    // Of a small file it says nothing, but that threads end by their count does.
    expect(atEnd.peakMib - atRest.peakMib).toBeLessThan(MORE_MIB);
    expect(endedThreads).toBeGreaterThanOrEqual(ENDED_THREADS);
    expect(said).toEqual([]);
    await context.close();
  });
});
