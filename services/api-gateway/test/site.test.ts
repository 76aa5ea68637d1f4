import { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

const AS_ADMIN = { Authorization: PERMANENT_TOKEN };
const PAGE = 'https://page.example';

let gateway: Gateway;
let revision = 0;

beforeAll(async () => {
  gateway = await openGateway({ trustedProxies: ['127.0.0.0/8'], corsOrigins: [PAGE] });
}, 60_000);
afterAll(() => gateway?.close());

/** Stores settings as admin does, and lets the gateway hear of it. */
async function save(values: Record<string, string>): Promise<void> {
  revision += 1;
  const items = Object.entries(values).map(([key, value]) => ({ key, value, help: '', type: 'string', options: '', group: 1, flag: 0 }));
  await gateway.models.settings.updateOne({ _id: 'settings' }, { $set: { revision, items } }, { upsert: true });
  await gateway.models.adminCounters.updateOne({ _id: 'revision' }, { $set: { value: revision } }, { upsert: true });
  gateway.stubs.answers.set('admin.saveSettings', { revision });
  await gateway.request({ method: 'POST', path: '/api/admin/setting/save', headers: AS_ADMIN, body: '[]' });
}

describe('pages beside the API', () => {
  it.each(['GET', 'POST', 'PUT', 'DELETE'])('%s /ping answers pong', async (method) => {
    const answer = await gateway.request({ method, path: '/ping', headers: { Authorization: 'no-such-token' } });
    expect([answer.status, answer.text()]).toEqual([200, 'pong']);
  });

  it('HEAD /ping has no body', async () => {
    const answer = await gateway.request({ method: 'HEAD', path: '/ping' });
    expect([answer.status, answer.body.length]).toEqual([200, 0]);
  });

  it.each(['/ping', '/', '/robots.txt', '/favicon.ico', '/manifest.json', '/no/such/page', '/api/me', '/d/no/such/file'])(
    '%s tells the id of its request',
    async (path) => {
      const id = 'request-of-a-proxy';
      const answer = await gateway.request({ path, headers: { 'X-Request-Id': id } });
      expect(answer.headers['x-request-id']).toBe(id);
    },
  );

  it('the start page shows the title of the site as text, and may load nothing from elsewhere', async () => {
    await save({ site_title: '<script>alert("1")</script> & co' });
    const answer = await gateway.request({ path: '/' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.text()).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; co');
    expect(answer.text()).not.toContain('<script>');
    expect(answer.text()).toContain('href="/api/openapi.json"');
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; /);
  });

  it.each(['/no/such/page', '/index.html', '/%00', '/%', '/..%2f..%2fetc/passwd', '/d', '/dav/x'])(
    '%s is a page that says so',
    async (path) => {
      const answer = await gateway.request({ path });
      expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    },
  );

  it('an app is installed by way of its manifest', async () => {
    const name = Buffer.from('https%3A%2F%2Ffiles.example%2Fapp.ipa/App%40com.example.app').toString('base64url');
    const answer = await gateway.request({ path: `/i/${name}.plist` });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/xml; charset=utf-8']);
    expect(answer.text()).toContain('<string>https://files.example/app.ipa</string>');
    expect((await gateway.request({ path: '/i/AAAA.plist' })).status).toBe(400);
    expect((await gateway.request({ path: '/i/%.plist' })).status).toBe(400);
  });

  it('robots.txt, the icon and the manifest come from the settings', async () => {
    await save({
      robots_txt: 'User-agent: canary',
      site_title: 'My files',
      favicon: 'https://cdn.example/x.png',
      logo: '/logo.svg\n/dark.svg',
    });
    const robots = await gateway.request({ path: '/robots.txt' });
    expect([robots.headers['content-type'], robots.text()]).toEqual(['text/plain; charset=utf-8', 'User-agent: canary']);
    const icon = await gateway.request({ path: '/favicon.ico' });
    expect([icon.status, icon.headers.location]).toEqual([302, 'https://cdn.example/x.png']);
    const manifest = await gateway.request({ path: '/manifest.json' });
    expect(manifest.json()).toEqual({
      display: 'standalone',
      scope: '/',
      start_url: '/',
      name: 'My files',
      icons: [{ src: '/logo.svg', sizes: '512x512', type: 'image/svg+xml' }],
    });
    await save({ favicon: '' });
    const own = await gateway.request({ path: String((await gateway.request({ path: '/favicon.ico' })).headers.location) });
    expect([own.status, own.headers['content-type']]).toEqual([200, 'image/svg+xml']);
  });

  it('a saved setting shows at once in the public ones', async () => {
    await save({ announcement: 'hello', token_like: 'x' });
    for (const method of ['GET', 'POST']) {
      const answer = await gateway.request({ method, path: '/api/public/settings', headers: { Authorization: 'no-such-token' } });
      expect(answer.json()).toMatchObject({ code: 200, data: { announcement: 'hello' } });
    }
  });

  it('the description of the API is a document of its own', async () => {
    const answer = await gateway.request({ path: '/api/openapi.json' });
    expect(answer.json()).toMatchObject({ openapi: '3.1.0', paths: { '/api/me': expect.anything() } });
  });

  it('the description of the API is in memory once, however many clients take it slowly', async () => {
    const given = [vi.spyOn(ServerResponse.prototype, 'write'), vi.spyOn(ServerResponse.prototype, 'end')];
    for (let count = 0; count < 2; count += 1) await gateway.request({ path: '/api/openapi.json' });
    const [first, second, ...others] = given.flatMap(({ mock }) => mock.calls.flatMap(([body]: unknown[]) => body ?? []));
    for (const spy of given) spy.mockRestore();
    expect(first).toBeInstanceOf(Uint8Array);
    expect([second === first, ...others]).toEqual([true]);
  });
});

describe('calls from pages of other origins (C22)', () => {
  const preflight = (path: string, origin: string) =>
    gateway.request({
      method: 'OPTIONS',
      path,
      headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'authorization,file-path' },
    });

  it('a configured origin may call the API', async () => {
    for (const path of ['/api/fs/list', '/api/fs/put', '/api/no/such/route']) {
      const answer = await preflight(path, PAGE);
      expect([answer.status, answer.body.length, answer.headers['access-control-allow-origin']]).toEqual([204, 0, PAGE]);
      expect(answer.headers['access-control-allow-headers']).toMatch(
        /Authorization.*Content-Type.*File-Path.*If-Match.*If-None-Match.*If-Unmodified-Since/,
      );
      expect(answer.headers['access-control-allow-methods']).toContain('PUT');
    }
    const me = await gateway.request({ path: '/api/me', headers: { Origin: PAGE } });
    expect([me.headers['access-control-allow-origin'], me.headers.vary]).toEqual([PAGE, 'Origin']);
  });

  it('another origin gets an answer, but not the right to read it', async () => {
    const answer = await preflight('/api/fs/list', 'https://evil.example');
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([204, undefined]);
    const me = await gateway.request({ path: '/api/me', headers: { Origin: 'https://evil.example' } });
    expect(me.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('a form of another origin does nothing: no login is tried, and nothing is done as the guest', async () => {
    const post = (headers: Record<string, string>, path = '/api/auth/login') => {
      const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
      return gateway.request({ method: 'POST', path, headers: { ...type, ...headers }, body: 'username=a&password=b&path=/x' });
    };
    gateway.stubs.asked.length = 0;
    for (const Origin of ['https://evil.example', 'null'])
      for (const path of ['/api/auth/login', '/api/fs/mkdir']) expect((await post({ Origin }, path)).json()).toMatchObject({ code: 403 });
    expect(gateway.stubs.asked).toEqual([]);
    const { host } = new URL(gateway.base);
    const own = [{}, { Origin: PAGE }, { Origin: `http://${host}` }, { Origin: `https://${host}` }];
    const programs = ['file://', 'chrome-extension://abcdef'].map((Origin) => ({ Origin }));
    // A proxy between us that says neither host nor scheme: the browser tells.
    for (const headers of [...own, ...programs, { Origin: 'https://files.example', 'Sec-Fetch-Site': 'same-origin' }])
      expect((await post(headers)).json()).toMatchObject({ code: 200 });
  });

  it('downloads may be read by every page', async () => {
    const answer = await preflight('/d/a/b.txt', 'https://player.example');
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([204, '*']);
    expect(answer.headers['access-control-allow-headers']).toContain('Range');
  });
});

describe('what the gateway tells the services', () => {
  const ask = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    gateway.stubs.asked.length = 0;
    const type = { 'Content-Type': 'application/json' };
    const answer = await gateway.request({
      method: 'POST',
      path,
      headers: { ...AS_ADMIN, ...type, ...headers },
      body: JSON.stringify(body),
    });
    const [asked] = gateway.stubs.asked;
    if (!asked) throw new Error(`${path} asked nobody: ${answer.text()}`);
    return { answer, asked };
  };

  it('who calls, under which request id, and the newest revisions that it knows of', async () => {
    gateway.stubs.answers.set('auth.updateUser', { revision: 41 });
    gateway.stubs.answers.set('admin.updateRule', { revision: 1_000 });
    await ask('/api/admin/user/update', { id: 5, username: 'x' });
    await ask('/api/admin/meta/update', { id: 5, path: '/x' });
    gateway.stubs.answers.set('auth.updateUser', { revision: 40 });
    await ask('/api/admin/user/update', { id: 5, username: 'x' });
    const { answer, asked } = await ask('/api/fs/dirs', { path: '/a' });
    expect(asked).toMatchObject({
      rpc: 'fs.listDirectories',
      request: { path: '/a', password: '', force_root: false },
      call: {
        identity: { kind: 'user', id: 1, role: 2 },
        requestId: answer.headers['x-request-id'],
        revisions: { auth: 41, admin: 1_000 },
      },
    });
  });

  it('a request id of a trusted proxy is kept when it looks like one', async () => {
    expect((await ask('/api/fs/dirs', {}, { 'X-Request-Id': 'proxy-0123456789' })).asked.call.requestId).toBe('proxy-0123456789');
    expect((await ask('/api/fs/dirs', {}, { 'X-Request-Id': 'no id <script>' })).asked.call.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('the address of the client at login, from the proxy that is trusted', async () => {
    const login = await ask('/api/auth/login', { username: 'x', password: 'y' }, { 'X-Forwarded-For': '1.1.1.1, 198.51.100.7' });
    expect(login.asked.request).toMatchObject({ address: '198.51.100.7', username: 'x', password: 'y', otp_code: '' });
  });

  it('the address of the site, never one that cannot be a host', async () => {
    const siteOf = async (headers: Record<string, string>) => (await ask('/api/fs/get', { path: '/x' }, headers)).asked.request;
    expect(await siteOf({ Host: 'files.example' })).toMatchObject({ site_url: 'http://files.example' });
    expect(await siteOf({ 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'public.example' })).toMatchObject({
      site_url: 'https://public.example',
    });
    expect(await siteOf({ Host: '$evil.example' })).toMatchObject({ site_url: gateway.base });
    expect((await gateway.request({ path: '/api/me', headers: { Host: 'evil.example/@x' } })).status).toBe(400);
  });

  it('pages from 1 and sizes from 0, and names of any case', async () => {
    const { asked } = await ask('/api/fs/list', { Path: '/a', PAGE: -1, per_page: -5, Refresh: true, password: null });
    expect(asked.request).toMatchObject({ path: '/a', page: 1, per_page: 0, refresh: true, password: '' });
  });
});

describe('what clients are shown', () => {
  it('a listing is put together from its parts', async () => {
    const listing = { total: 7, readme: 'r"', header: 'h', write: true, write_content_bypass: false, provider: 'Local' };
    const [first, second, third] = ['a', 'b', 'c'].map((name) => ({ name, hash_info: null }));
    gateway.stubs.answers.set('fs.listEntries', [
      { listing, entries_utf8: Buffer.from(`${JSON.stringify(first)},${JSON.stringify(second)}`) },
      { entries_utf8: Buffer.from(JSON.stringify(third)) },
    ]);
    const answer = await gateway.request({ path: '/api/fs/list?path=/x&page=1&per_page=3', headers: AS_ADMIN });
    expect(answer.json()).toEqual({ code: 200, message: 'success', data: { content: [first, second, third], ...listing } });
    gateway.stubs.answers.set('fs.listEntries', [{ listing, entries_utf8: Buffer.alloc(0) }]);
    const empty = await gateway.request({ path: '/api/fs/list?path=/x', headers: AS_ADMIN });
    expect(empty.json()).toEqual({ code: 200, message: 'success', data: { content: [], ...listing } });
  });

  it('an entry is shown with its digests as an object', async () => {
    const entry = { name: 'b', size: 5, modified: '2022-01-01T00:00:00Z', hashinfo: '{"md5":"d41d"}' };
    gateway.stubs.answers.set('fs.getEntry', { ...entry, provider: 'Local', related: [{ ...entry, name: 'a', hashinfo: 'null' }] });
    const answer = await gateway.request({ path: '/api/fs/get?path=/x/b', headers: AS_ADMIN });
    const shown = {
      size: 5,
      is_dir: false,
      modified: '2022-01-01T00:00:00Z',
      created: '2022-01-01T00:00:00Z',
      sign: '',
      thumb: '',
      type: 0,
    };
    expect(answer.json()).toMatchObject({
      code: 200,
      data: {
        ...shown,
        name: 'b',
        hashinfo: '{"md5":"d41d"}',
        hash_info: { md5: 'd41d' },
        related: [{ ...shown, name: 'a', hashinfo: 'null', hash_info: null }],
      },
    });
  });

  it('drivers are sorted by name', async () => {
    const template = (name: string) => ({ common: [], additional: [], config: { name } });
    gateway.stubs.answers.set('fs.listDrivers', { drivers: [template('WebDav'), template('Local'), template('S3')] });
    const names = await gateway.request({ path: '/api/admin/driver/names', headers: AS_ADMIN });
    expect(names.json()).toMatchObject({ data: ['Local', 'S3', 'WebDav'] });
    const info = await gateway.request({ path: '/api/admin/driver/info?driver=S3', headers: AS_ADMIN });
    expect(info.json()).toMatchObject({
      code: 200,
      data: { common: [], additional: [], config: { name: 'S3', only_local: false, alert: '' } },
    });
  });

  it('tool settings answer under both of their names', async () => {
    gateway.stubs.answers.set('admin.setRpcDownloadTool', { version: '1.37.0', revision: 1 });
    for (const name of ['set_rpcdl', 'set_aria2']) {
      const answer = await gateway.request({
        method: 'POST',
        path: `/api/admin/setting/${name}`,
        headers: AS_ADMIN,
        body: '{"uri":"http://x"}',
      });
      expect(answer.json()).toEqual({ code: 200, message: 'success', data: 'aria2 version: 1.37.0' });
    }
  });

  it('a recursive move says how many files moved', async () => {
    gateway.stubs.answers.set('fs.recursiveMove', { moved: 3 });
    const answer = await gateway.request({
      method: 'POST',
      path: '/api/fs/recursive_move',
      headers: AS_ADMIN,
      body: '{"src_dir":"/a","dst_dir":"/b"}',
    });
    expect(answer.json()).toEqual({ code: 200, message: 'Successfully moved 3 files', data: null });
  });

  it.each([
    ['GET', '/api/task/upload/undone', '', 200, 'success', []],
    ['GET', '/api/admin/task/offline_download/done', '', 200, 'success', []],
    ['POST', '/api/task/copy/delete_some', '{"a":1}', 400, 'invalid request format', null],
    ['POST', '/api/task/move/clear_done', '', 200, 'success', null],
    ['POST', '/api/fs/search', '{"keywords":"x"}', 404, 'search not available', null],
    ['GET', '/api/admin/index/progress', '', 404, 'search not available', null],
    ['POST', '/api/auth/login/ldap', '{}', 403, 'ldap is not enabled', null],
    ['GET', '/api/authn/webauthn_begin_login', '', 403, 'WebAuthn is not enabled', null],
    ['GET', '/api/auth/sso?method=get_sso_id', '', 403, 'Single sign-on is not enabled', null],
    ['POST', '/api/admin/message/get', '', 404, 'no message', null],
    ['POST', '/api/fs/list', '{"path":"/@s/abc"}', 500, 'the share does not exist', null],
    ['GET', '/api/public/archive_extensions', '', 200, 'success', []],
    ['GET', '/api/public/init_status', '', 200, 'success', { initialized: true }],
    ['POST', '/api/me/sshkey/add', '{"title":""}', 400, 'request invalid', null],
    ['POST', '/api/me/sshkey/delete?id=x', '', 400, 'id format invalid', null],
    ['GET', '/api/admin/setting/list?groups=5,x', '', 400, "the group 'x' must be a number", null],
  ])('%s %s %s: %d %s', async (method, path, body, code, message, data) => {
    await save({ search_index: 'none' });
    const answer = await gateway.request({ method, path, headers: { ...AS_ADMIN, 'Content-Length': body.length }, body });
    expect(answer.json()).toEqual({ code, message, data });
  });
});
