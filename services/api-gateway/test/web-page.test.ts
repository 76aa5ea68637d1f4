import { mkdir, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeTempDir } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, openGateway } from './gateway.ts';

const PAGE = '<!doctype html><title>built</title>';
const SCRIPT = 'export const built = true;'.repeat(20);
const AS_BROWSER = { Accept: 'text/html,application/xhtml+xml' };

describe('the web page', () => {
  let folder: Awaited<ReturnType<typeof makeTempDir>>;
  let webDir = '';
  let gateway: Gateway;
  beforeAll(async () => {
    folder = await makeTempDir('web');
    webDir = join(folder.path, 'built');
    gateway = await openGateway({ webDir });
  });
  afterAll(async () => {
    await gateway.close();
    await folder.remove();
  });

  it('while it is being built the start page says so, and why where it cannot be', async () => {
    expect((await gateway.request({ path: '/' })).text()).toContain('is being built');
    expect((await gateway.request({ path: '/a/folder', headers: AS_BROWSER })).status).toBe(404);
    await mkdir(webDir);
    await writeFile(join(webDir, 'failed.txt'), 'no <registry>');
    expect((await gateway.request({ path: '/' })).text()).toContain('could not be built: <code>no &lt;registry&gt;</code>');
    await rm(join(webDir, 'failed.txt'));
  });

  it('once it is there it is shown at every address that is not of the API', async () => {
    await mkdir(join(webDir, 'assets'), { recursive: true });
    await writeFile(join(webDir, 'assets', 'index-1a.js'), SCRIPT);
    // More than what waits for a client on its way.
    await writeFile(join(webDir, 'assets', 'index-1a.css'), Buffer.alloc(16 * 1024 * 1024));
    await writeFile(join(webDir, 'assets', 'index-1a.js.gz'), gzipSync(SCRIPT));
    await writeFile(join(webDir, 'index.html'), PAGE);
    for (const path of ['/', '/local', '/local/a%20b/c.txt', '/@/api', '/@login', '/%00']) {
      const answer = await gateway.request({ path, headers: AS_BROWSER });
      expect([path, answer.status, answer.text()]).toEqual([path, 200, PAGE]);
    }
    expect((await gateway.request({ path: '/' })).text()).toBe(PAGE);
    const head = await gateway.request({ method: 'HEAD', path: '/local', headers: AS_BROWSER });
    expect([head.status, head.body.length]).toEqual([200, 0]);
  });

  it('clients find what they found before', async () => {
    for (const path of ['/dav', '/dav/x', '/d', '/API/x', '/s3/bucket', '/sd/x', '/assets/none.js', '/mcp'])
      expect([path, (await gateway.request({ path, headers: AS_BROWSER })).text()]).not.toEqual([path, PAGE]);
    expect((await gateway.request({ path: '/local' })).status).toBe(404);
    expect((await gateway.request({ method: 'POST', path: '/local', headers: AS_BROWSER })).status).toBe(404);
    expect((await gateway.request({ path: '/ping', headers: AS_BROWSER })).text()).toBe('pong');
    expect((await gateway.request({ path: '/api/no/such/route', headers: AS_BROWSER })).text()).not.toBe(PAGE);
    expect((await gateway.request({ path: '/robots.txt', headers: AS_BROWSER })).headers['content-type']).toMatch(/^text\/plain/);
  });

  it('its policy lets nothing run but its own files, and nobody frame it', async () => {
    const { headers } = await gateway.request({ path: '/', headers: AS_BROWSER });
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'cache-control': 'no-cache' });
  });

  it.runIf(process.platform === 'linux')('clients that take nothing of a file hold no file handle', async () => {
    const held = await Promise.all(
      Array.from({ length: 10 }, () => {
        const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
        get(`${gateway.base}/assets/index-1a.css`, { agent: false }, resolve).on('error', reject);
        return promise;
      }),
    );
    expect(held.map(({ statusCode }) => statusCode)).toEqual(Array(held.length).fill(200));
    const handles = await readdir('/proc/self/fd');
    const open = await Promise.all(handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => '')));
    expect(open.filter((path) => path.startsWith(webDir))).toEqual([]);
    for (const answer of held) answer.on('error', () => {}).destroy();
  });

  it('its files come compressed and stay for good; others of the disk do not come', async () => {
    const packed = await gateway.request({ path: '/assets/index-1a.js', headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding', 'x-content-type-options': 'nosniff' });
    expect(packed.headers['content-type']).toMatch(/^text\/javascript/);
    expect(packed.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const plain = await gateway.request({ path: '/assets/index-1a.js' });
    expect([plain.headers['content-encoding'], plain.text()]).toEqual([undefined, SCRIPT]);
    for (const path of ['/assets/..%2findex.html', '/assets/%2e%2e/failed.txt', '/assets/', '/assets'])
      expect([path, (await gateway.request({ path })).status]).toEqual([path, 404]);
  });
});
