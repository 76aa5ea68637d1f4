import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type Api,
  describeContent,
  download,
  generateContent,
  type HttpServer,
  isAvailable,
  isMissing,
  login,
  makeTempDir,
  startCephRgw,
  startFaultProxy,
  startSshServer,
  startStandalone,
} from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { authorization, filePath, rawPath } from './support/files.ts';
import { mountRemotes } from './support/remote-storages.ts';
import { startReplicas } from './support/replicas.ts';
import { startUploadProxy, type UploadProxy } from './support/upload-proxy.ts';
import { openUppy, startUppyPage } from './support/uppy.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
/** The whole of it: 4096. */
const SIZE_MIB = Number(process.env['WHARF_E2E_UPPY_MIB'] ?? 12);
const SIZE_BYTES = SIZE_MIB * MIB + 7;
/** A small file has three minutes, and each MiB of a big one a second. */
const WITHIN_MS = Math.max(180_000, SIZE_MIB * 1000);
const BEGIN_MS = 60_000;
const NAME = 'big ü.bin';
/** What is sent at once to several storages: of a big file as the documents of tus-js-client and Uppy advise behind proxies. */
const PIECE_BYTES = SIZE_MIB > 1024 ? 10 * MIB : MIB;
/** All connections break so often, for a minute, in milliseconds. */
const BREAK_EVERY_MS = 5_000;
const BREAKING_MS = 60_000;
/** Of the bucket: a file whose draft is copied is there twice, and what is removed is collected after a minute. */
const BUCKET_COPIES = 5;

const found = await openBrowser();
const files = await makeTempDir('uppy');
const file = join(files.path, NAME);
let site: HttpServer;
beforeAll(async () => {
  await pipeline(generateContent('uppy', SIZE_BYTES), createWriteStream(file));
  site = await startUppyPage();
}, WITHIN_MS);
afterAll(async () => {
  if (!isMissing(found)) await found.close();
  await site?.stop();
  await files.remove();
});

const expectSuccess = async (page: Page) => {
  await page.waitForFunction('window.ended !== undefined', undefined, { timeout: WITHIN_MS });
  expect(await page.evaluate('window.ended')).toEqual({ successful: 1, failed: [] });
};
const expectNothingUnfinished = async (admin: Api) =>
  expect((await admin.get('/api/admin/upload/list')).data).toMatchObject({ content: [], total: 0 });

describe.runIf(isAvailable('chromium', found))('uploads by Uppy in a browser, from a page of another origin', () => {
  const browser = found as Browser;
  let world: World;
  let proxy: UploadProxy;
  let context: BrowserContext;
  let page: Page;
  /** Requests to Wharf: the method and, where bytes came, where they begin. */
  let sent: string[];

  beforeAll(async () => {
    world = await openWorld(startStandalone, { env: { WHARF_CORS_ORIGINS: site.url } });
    proxy = await startUploadProxy(world.base);
  });
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
    await proxy?.stop();
    await world?.close();
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
  const choose = () => page.locator('input').setInputFiles(file);
  const expectArrived = async (disk: string) => {
    await expectSuccess(page);
    expect(await readdir(disk)).toEqual([NAME]);
    const stored = createHash('sha256');
    for await (const piece of createReadStream(join(disk, NAME))) stored.update(piece);
    expect(stored.digest('hex')).toBe(describeContent('uppy', SIZE_BYTES).sha256);
    await expectNothingUnfinished(world.admin);
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

const sizes = SIZE_MIB > 1024 ? { isOnDisk: true, sizeBytes: (BUCKET_COPIES * SIZE_MIB + 1024) * MIB } : {};
const [rgw, sshd] = await Promise.all([startCephRgw(sizes), startSshServer()]);
const areThere = [isAvailable('chromium', found), isAvailable('ceph-rgw', rgw), isAvailable('sshd', sshd)].every(Boolean);

describe.runIf(areThere)('uploads by Uppy to storages of several kinds at once', () => {
  if (isMissing(found) || isMissing(rgw) || isMissing(sshd)) return;
  /** What a test started ends with it, the last first. */
  const ending: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0).toReversed()) await end();
  });
  afterAll(async () => {
    await rgw.stop();
    await sshd.stop();
  });

  /** Sends the file to each folder from a page of its own, while all connections break now and then, and one thing after the other happens at even distances of the way. */
  const expectArrivals = async (
    { gateways, admin, folders }: { gateways: readonly [string, ...string[]]; admin: Api; folders: readonly string[] },
    faults: readonly (() => Promise<void>)[],
  ) => {
    const proxy = await startUploadProxy(...gateways);
    const lines = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(proxy.base).port) } });
    const context = await found.newContext();
    ending.push(
      () => proxy.stop(),
      () => lines.stop(),
      () => context.close(),
    );
    const base = `http://${lines.host}:${lines.port}`;
    const pages = await Promise.all(
      folders.map(async (folder) => {
        const page = await context.newPage();
        const headers = { ...authorization(admin), ...filePath(`${folder}/`) };
        await openUppy(page, site.url, { base, headers, chunkBytes: PIECE_BYTES });
        return page;
      }),
    );
    const pieces = folders.length * Math.ceil(SIZE_BYTES / PIECE_BYTES);
    // A creation that is cut is not found again: all have begun before anything happens.
    void proxy.holdAfter(0);
    await Promise.all(
      pages.map(async (page) => {
        const begun = page.waitForRequest((request) => request.method() === 'PATCH', { timeout: BEGIN_MS });
        await page.locator('input').setInputFiles(file);
        await begun;
      }),
    );
    const breaking = setInterval(() => lines.breakAll(), BREAK_EVERY_MS);
    const calm = setTimeout(() => clearInterval(breaking), BREAKING_MS);
    ending.push(async () => {
      clearInterval(breaking);
      clearTimeout(calm);
    });
    let reached = proxy.after(Math.floor(pieces / (faults.length + 1)));
    proxy.release();
    const making: Promise<void>[] = [];
    for (const make of faults) {
      await reached;
      // A piece of each that was under way may have arrived unanswered. The rest goes on meanwhile.
      reached = proxy.after(Math.floor(pieces / (faults.length + 1)) - folders.length);
      making.push(make());
    }
    await Promise.all([...pages.map(expectSuccess), ...making]);
    for (const folder of folders) {
      const path = await rawPath(admin, `${folder}/${NAME}`);
      expect(await download(gateways[0], { path, idleTimeoutMs: WITHIN_MS }), folder).toMatchObject(describeContent('uppy', SIZE_BYTES));
      await admin.call('/api/fs/remove', { dir: folder, names: [NAME] });
    }
    await expectNothingUnfinished(admin);
  };

  test('arrive byte by byte when the one process is killed under them', { timeout: 2 * WITHIN_MS }, async () => {
    const world = await openWorld(startStandalone, { env: { WHARF_CORS_ORIGINS: site.url, WHARF_DRAIN_SECONDS: '0' } });
    ending.push(() => world.close());
    const { s3, sftp, stop } = await mountRemotes(world, rgw, sshd);
    ending.push(stop);
    await expectArrivals({ gateways: [world.base], admin: world.admin, folders: [s3.mount, sftp.mount] }, [
      async () => {
        await world.wharf.kill();
        await world.wharf.restart();
      },
    ]);
  });

  test('arrive byte by byte through two gateways and two fs in turns, of which one each is killed, and the store', {
    timeout: 2 * WITHIN_MS,
  }, async () => {
    const replicas = await startReplicas({ WHARF_CORS_ORIGINS: site.url });
    ending.push(replicas.stop);
    const { first, second, folder } = replicas;
    const admin = await login(first, 'admin', replicas.adminPassword);
    await mkdir(join(folder, 'shared'));
    const addition = JSON.stringify({ root_folder_path: join(folder, 'shared'), mkdir_perm: '777' });
    await admin.call('/api/admin/storage/create', { mount_path: '/shared', driver: 'Local', addition });
    const { s3, sftp, stop } = await mountRemotes({ admin, unique: (purpose) => `${purpose}-of-replicas` }, rgw, sshd);
    ending.push(stop);
    await expectArrivals({ gateways: [first, second], admin, folders: ['/shared', s3.mount, sftp.mount] }, [
      () => replicas.restart('api-gateway', 0),
      () => replicas.restart('fs', 1),
      () => replicas.restartStore(),
    ]);
  });
});
