import { readdir } from 'node:fs/promises';
import { createEgress, createEgressPolicy, type Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import {
  ensureCommand,
  freePort,
  isAvailable,
  isMissing,
  makeCertificate,
  startApacheDav,
  startHttpServer,
  startProcess,
} from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { at, collect, digest, namesIn, pattern, put, refuses, textOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../src/driver-contract/open-context.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { RcloneClient } from '../../src/drivers/rclone/client.ts';
import { rcloneDriver } from '../../src/drivers/rclone/index.ts';
import { keptToken } from '../../src/drivers/rclone/kept-token.ts';
import { rcd } from '../../src/drivers/rclone/rcd.ts';
import { webWay } from '../../src/drivers/rclone/ways.ts';

const program = await ensureCommand('rclone', 'rclone');
const dav = await startApacheDav();
/** In `npm run soak -- suites` one every five seconds, for a minute. */
const KILLS = process.env['WHARF_LONG_SUITES'] === undefined ? 1 : 12;
const PATIENCE = { timeout: 30_000, interval: 50 };
const EXPIRED = { access_token: 'old', token_type: 'Bearer', refresh_token: 'first', expiry: '2020-01-01T00:00:00Z' };

/** Names all mean this machine, but those that are refused. */
function egressTo(forbidden: readonly { host: string; port: number }[] = []): Egress {
  const resolve = async (host: string) => [host.startsWith('inner') ? '169.254.169.254' : '127.0.0.1'];
  return createEgress(createEgressPolicy({ allow: [], forbidden, audience: 'admin', resolve }));
}

describe.runIf(isAvailable('rclone', program) && isAvailable('webdav', dav))('the driver Rclone', () => {
  if (isMissing(program) || isMissing(dav)) return;
  afterAll(() => dav.stop());

  const items = (host = '127.0.0.1', changed: Record<string, string> = {}) =>
    JSON.stringify({
      type: 'webdav',
      options: `url = ${dav.url.replace(dav.host, host)}\nvendor = owncloud\nuser = ${dav.username}`,
      secrets: `pass = ${dav.password}`,
      root_folder_path: '/',
      ...changed,
    });

  async function opened(addition: string, egress = egressTo()): Promise<Required<StorageDriver>> {
    const driver = await rcloneDriver.open(addition, { egress });
    onTestFinished(() => driver.close());
    return driver as Required<StorageDriver>;
  }

  it('a folder is not moved into one that has got its name a moment before', async () => {
    const driver = await opened(items());
    for (const folder of ['/moved', '/made']) await put(driver, `/late${folder}/file`, folder);
    const type = { type: 'webdav', parameters: { url: dav.url, vendor: 'owncloud', user: dav.username, pass: dav.password } };
    const egress = egressTo();
    const client = new RcloneClient(
      webWay(
        async () => undefined,
        () => type,
      ),
      { hold: () => rcd.hold(egress), get: () => rcd.get() },
    );
    onTestFinished(() => client.close());
    await refuses('ENTRY_EXISTS', client.move('late/moved', 'late/made', true, {}));
    for (const folder of ['/moved', '/made']) expect(await textOf(driver, `/late${folder}/file`)).toBe(folder);
    await client.move('late/moved', 'late/free', true, {});
    expect(await namesIn(driver, '/late')).toEqual(['free', 'made']);
    await driver.remove(at('/late'), { recursive: true });
  });

  it('reaches a server by the proxy, where the policy resolves its name', async () => {
    const driver = await opened(items('dav.example.test'));
    const content = pattern(3_000_001);
    await put(driver, '/by-proxy/ä "b".bin', content);
    expect(digest(await collect(await driver.read(at('/by-proxy/ä "b".bin'))))).toBe(digest(content));
    const stretch = await collect(await driver.read(at('/by-proxy/ä "b".bin'), { offsetBytes: 1_000_000, lengthBytes: 10 }));
    expect(stretch).toEqual(content.subarray(1_000_000, 1_000_010));
    await driver.copy(at('/by-proxy/ä "b".bin'), at('/by-proxy/c'), { overwrite: false });
    await driver.rename(at('/by-proxy'), at('/moved'), { overwrite: false });
    expect((await namesIn(driver, '/moved')).sort()).toEqual(['c', 'ä "b".bin']);
    await driver.remove(at('/moved'), { recursive: true });
  });

  it('goes nowhere the policy does not allow, by an address, a name, or where a server sends it (C6)', async () => {
    await refuses('PERMISSION_DENIED', opened(items('169.254.169.254')));
    await refuses('PERMISSION_DENIED', opened(items('inner.example.test')));
    await refuses('PERMISSION_DENIED', opened(items('dav.example.test'), egressTo([{ host: '127.0.0.1', port: dav.port }])));
    const asked: string[] = [];
    const sender = await startHttpServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(302, { Location: 'http://inner.example.test/secret' }).end();
    });
    onTestFinished(() => sender.stop());
    const url = sender.url.replace('127.0.0.1', 'sender.example.test');
    await refuses('PERMISSION_DENIED', opened(JSON.stringify({ type: 'http', options: `url = ${url}/`, root_folder_path: '/' })));
    expect(asked.length).toBeGreaterThan(0);
  });

  it('a server cannot say names that lead elsewhere, or one twice (C4)', async () => {
    const hrefs = [
      ...['/dav/', '/dav/..', '/dav/%2E%2E', '/dav/.', '/dav/a%2Fb', '/dav/x%0D%0AEvil', '/etc/passwd', '/dav/../etc'],
      ...['/dav/sub/deeper', `/dav/${'n'.repeat(300)}`, '/dav/a%5Cb', '/dav/fine', '/dav/fine'],
    ];
    const prop = (href: string) =>
      `<D:response><D:href>${href}</D:href><D:propstat><D:prop><D:resourcetype>${href.endsWith('/') ? '<D:collection/>' : ''}</D:resourcetype>` +
      '<D:getcontentlength>1</D:getcontentlength><D:getlastmodified>Sun, 22 Nov 2026 19:00:00 GMT</D:getlastmodified></D:prop>' +
      '<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>';
    const hostile = await startHttpServer((request, response) => {
      const shown = request.headers['depth'] === '0' ? hrefs.slice(0, 1) : hrefs;
      response.writeHead(207).end(`<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">${shown.map(prop).join('')}</D:multistatus>`);
    });
    onTestFinished(() => hostile.stop());
    const driver = await opened(
      JSON.stringify({ type: 'webdav', options: `url = ${hostile.url}/dav\nvendor = other`, secrets: '', root_folder_path: '/' }),
    );
    expect(await namesIn(driver, '/')).toEqual(['fine']);
  });

  it('a certificate that nobody signed is refused (C21)', async () => {
    const certificate = await makeCertificate('127.0.0.1');
    if (isMissing(certificate)) throw new Error(certificate.missing);
    const secure = await startHttpServer((_, response) => void response.writeHead(207).end(), certificate);
    onTestFinished(() => secure.stop());
    const url = secure.url.replace('127.0.0.1', 'secure.example.test');
    const failure = await opened(JSON.stringify({ type: 'http', options: `url = ${url}/`, root_folder_path: '/' })).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(STORAGE_UNAVAILABLE|PERMISSION_DENIED)$/) });
    expect(secure.requests()).toBe(0);
  });

  it('says what is wrong with its items', async () => {
    await refuses('STORAGE_LOGIN_FAILED', opened(items('127.0.0.1', { secrets: 'pass = another' })));
    await expect(opened(items('127.0.0.1', { root_folder_path: 'not/there' }))).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'root folder not/there not exists',
    });
    const wrong = opened(items('127.0.0.1', { options: `url = ${dav.url}\nregion = x` }));
    await expect(wrong).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('it has url, vendor, user, pass'),
    });
  });

  it('goes on when rclone was killed in a write, and leaves nothing half written', async () => {
    const driver = await opened(items());
    await put(driver, '/killed', 'old');
    const running = await rcd.get();
    const content = (async function* () {
      yield pattern(200_000);
      running.kill();
      await vi.waitFor(() => expect(running.ended.aborted).toBe(true), PATIENCE);
      yield pattern(200_000);
    })();
    await refuses('STORAGE_UNAVAILABLE', driver.write(at('/killed'), content, { overwrite: true }));
    await vi.waitFor(async () => expect(await textOf(driver, '/killed')).toBe('old'), PATIENCE);
    await put(driver, '/killed', 'new', { overwrite: true });
    await vi.waitFor(async () => expect(await namesIn(driver, '/')).toEqual(['killed']), PATIENCE);
    await driver.remove(at('/killed'), { recursive: false });
  });

  it('calls fail clearly while rclone is killed under load, go on, and leave nothing half written', async () => {
    const driver = await opened(items());
    const content = pattern(300_000);
    const codes = new Set<string>();
    let [written, killed] = [0, 0];
    const write = async (name: string) => {
      for (;;) {
        try {
          await put(driver, name, content, { overwrite: true });
          expect(digest(await collect(await driver.read(at(name))))).toBe(digest(content));
          written += 1;
          return;
        } catch (error) {
          if (!AppError.is(error)) throw error;
          codes.add(error.code);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    };
    const writers = Array.from({ length: 4 }, async (_, lane) => {
      for (let index = 0; killed < KILLS; index += 1) await write(`/load/${lane}-${index % 5}`);
    });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const before = written;
      await vi.waitFor(() => expect(written).toBeGreaterThan(before + 3), PATIENCE);
      if (KILLS > 1) await new Promise((resolve) => setTimeout(resolve, 5_000));
      (await vi.waitFor(() => rcd.get(), PATIENCE)).kill();
      killed = kill;
    }
    await Promise.all(writers);
    expect([...codes].filter((code) => code !== 'STORAGE_UNAVAILABLE')).toEqual([]);
    for (const name of await namesIn(driver, '/load')) {
      expect(digest(await collect(await driver.read(at(`/load/${name}`))))).toBe(digest(content));
    }
    await vi.waitFor(async () => {
      await namesIn(driver, '/load');
      expect((await readdir(`${dav.folder}/load`)).filter((name) => name.includes('.wharf-tmp'))).toEqual([]);
    }, PATIENCE);
    await driver.remove(at('/load'), { recursive: true });
  });

  it('keeps a token that rclone has renewed, and takes that of another replica when its own is refused', async () => {
    const used: string[] = [];
    const vendor = await startHttpServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      response.setHeader('Content-Type', 'application/json');
      if (request.url?.startsWith('/token')) {
        used.push(new URLSearchParams(Buffer.concat(pieces).toString()).get('refresh_token') ?? '');
        const isKnown = ['first', 'third'].includes(used.at(-1) ?? '');
        response.statusCode = isKnown ? 200 : 400;
        response.end(
          isKnown
            ? JSON.stringify({ access_token: 'new', token_type: 'Bearer', refresh_token: 'second', expires_in: 3_600 })
            : JSON.stringify({ error: 'invalid_grant' }),
        );
      } else response.end(JSON.stringify({ id: 'root', path: '/', type: 'dir', name: '/', mtime: 0, has_dirs: false, members: [] }));
    });
    onTestFinished(() => vendor.stop());
    let stored = JSON.stringify(EXPIRED);
    const item = {
      get value() {
        return stored;
      },
      async replace(before: string, after: string) {
        if (stored === before) stored = after;
        return stored;
      },
    };
    const open = () => {
      const token = keptToken(item);
      const remote = () => ({
        type: 'hidrive',
        parameters: { token: token.text(), token_url: `${vendor.url}/token`, endpoint: vendor.url, client_id: 'a', client_secret: 'b' },
      });
      const egress = egressTo();
      const way = { ...webWay(async () => undefined, remote), ...token.watch };
      const client = new RcloneClient(way, { hold: () => rcd.hold(egress), get: () => rcd.get() });
      onTestFinished(() => client.close());
      return client;
    };
    const client = open();
    await client.features('', {}).catch(() => undefined);
    expect(used).toEqual(['first']);
    await vi.waitFor(() => expect(JSON.parse(stored)).toMatchObject({ access_token: 'new', refresh_token: 'second' }), PATIENCE);

    // Another replica has renewed it meanwhile: ours is refused.
    stored = JSON.stringify({ ...EXPIRED, refresh_token: 'stale' });
    const other = open();
    stored = JSON.stringify({ ...EXPIRED, refresh_token: 'stale' });
    const asking = other.features('', {}).catch((error: unknown) => error);
    await vi.waitFor(() => expect(used).toContain('stale'), PATIENCE);
    await asking;
    stored = JSON.stringify({ ...EXPIRED, refresh_token: 'third' });
    await other.features('', {}).catch(() => undefined);
    expect(used.at(-1)).toBe('third');
  });

  it('uses an rclone of somebody else, by its address', async () => {
    const port = await freePort();
    const external = await startProcess({
      name: 'rclone rcd',
      command: 'rclone',
      args: ['rcd', '--config', '', '--rc-addr', `127.0.0.1:${port}`, '--rc-user', 'anna', '--rc-pass', 'secret', '--rc-serve'],
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
      ready: { line: (line) => (line.includes('remote control') ? true : undefined) },
    });
    onTestFinished(async () => void (await external.stop()));
    const rcdItems = { rcd_url: `http://127.0.0.1:${port}`, rcd_username: 'anna', rcd_password: 'secret' };
    const driver = await opened(items('127.0.0.1', rcdItems));
    const content = pattern(300_000);
    await put(driver, '/far', content);
    expect(digest(await collect(await driver.read(at('/far'))))).toBe(digest(content));
    await driver.remove(at('/far'), { recursive: false });
    // Nobody here reaches its server to see what it does not list.
    await driver.makeDirectory(at('/far-folder'));
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/far-folder'), { recursive: false }));
    await driver.remove(at('/far-folder'), { recursive: true });
    await refuses('STORAGE_LOGIN_FAILED', opened(items('127.0.0.1', { ...rcdItems, rcd_password: 'another' })));
  });
});

it('a token is none, or what rclone authorize prints', () => {
  const { text } = keptToken(plainContext({ oauth_token: '' }, {}).keptItem('oauth_token'));
  expect(text()).toBe('');
});
