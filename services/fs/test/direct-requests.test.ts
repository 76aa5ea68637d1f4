import { readFile } from 'node:fs/promises';
import { type HttpRequest, httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const ORIGIN = 'https://files.example';
const UPLOADS = ['/api/fs/put', '/api/fs/form', '/api/fs/multipart/init', '/api/fs/tus'];

let installation: Installation;
/** Behind a proxy on loopback, and reached by nobody but clients. */
let behindProxy: Replica;
let bare: Replica;
let folder: string;
let login: string;

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  login = await installation.login({ id: 5, permission: 0b1000 });
  behindProxy = await installation.open(undefined, { trustedProxies: ['127.0.0.1'], corsOrigins: [ORIGIN], maxTransfers: 2 });
  bare = await installation.open(undefined, {});
});
afterAll(() => installation?.close());

const put = (replica: Replica, name: string, headers: Record<string, string> = {}) =>
  httpRequest(replica.url, {
    method: 'PUT',
    path: '/api/fs/put',
    headers: { Authorization: login, 'File-Path': encodeURIComponent(`/l/${name}`), ...headers },
    body: 'text',
  });
const preflight = (replica: Replica, path: string, origin = ORIGIN) =>
  httpRequest(replica.url, { method: 'OPTIONS', path, headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT' } });
const file = (name: string, request: Partial<HttpRequest> = {}): HttpRequest => ({
  path: `/d/l/${name}?${installation.sign(`/l/${name}`)}`,
  ...request,
});

describe('a request that comes straight to the data plane', () => {
  it.each(UPLOADS)('of a page of a configured origin may send to %s; of another one it may not', async (path) => {
    const allowed = await preflight(behindProxy, path);
    expect([allowed.status, allowed.headers['access-control-allow-origin']]).toEqual([204, ORIGIN]);
    expect(allowed.headers['access-control-allow-headers']).toContain('File-Path');
    for (const refused of [await preflight(behindProxy, path, 'https://other.example'), await preflight(bare, path)]) {
      expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([204, undefined]);
    }
  });

  it('shows its answer to a page of a configured origin, also a refusal', async () => {
    for (const headers of [{ Origin: ORIGIN }, { Origin: ORIGIN, Authorization: 'rubbish' }]) {
      const answer = await put(behindProxy, 'from-a-page', headers);
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' });
    }
    expect(await readFile(`${folder}/from-a-page`, 'utf8')).toBe('text');
    expect((await put(bare, 'from-a-page', { Origin: ORIGIN })).headers['access-control-allow-origin']).toBeUndefined();
  });

  it('by tus is told what the server offers', async () => {
    const answer = await httpRequest(behindProxy.url, { method: 'OPTIONS', path: '/api/fs/tus' });
    expect([answer.status, answer.headers['tus-version']]).toEqual([204, '1.0.0']);
  });

  it('for a download may come from every page, and only reads', async () => {
    await put(bare, 'shown');
    const asked = await preflight(bare, '/d/l/shown', 'https://other.example');
    expect([asked.status, asked.headers['access-control-allow-origin'], asked.headers['access-control-allow-methods']]).toEqual([
      204,
      '*',
      'GET, HEAD, OPTIONS',
    ]);
    expect((await httpRequest(bare.url, file('shown'))).text()).toBe('text');
    const written = await httpRequest(bare.url, file('shown', { method: 'POST', body: 'other' }));
    expect([written.status, written.text()]).toEqual([405, 'this address is only read\n']);
  });

  it('is known by the id that a trusted proxy gave it, and by none that a client made up', async () => {
    const headers = { 'X-Request-Id': 'a-request-of-the-proxy' };
    expect((await put(behindProxy, 'named', headers)).headers['x-request-id']).toBe('a-request-of-the-proxy');
    expect((await put(bare, 'named', headers)).headers['x-request-id']).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
  });

  it('has its share of transfers by the address that a trusted proxy tells', async () => {
    const open = (address: string) => {
      const abort = new AbortController();
      const body = async function* () {
        yield Buffer.from('begun');
        await new Promise((resolve) => abort.signal.addEventListener('abort', resolve));
      };
      const sent = httpRequest(behindProxy.url, {
        method: 'PUT',
        path: '/api/fs/put',
        headers: { Authorization: login, 'File-Path': `%2Fl%2Ffrom-${address}`, 'X-Forwarded-For': address },
        body: body(),
        signal: abort.signal,
      }).catch(() => undefined);
      return { sent, end: () => abort.abort() };
    };
    const download = (address: string) => httpRequest(behindProxy.url, file('shown', { headers: { 'X-Forwarded-For': address } }));
    const upload = open('203.0.113.1');
    await expect.poll(async () => (await download('203.0.113.1')).status, { timeout: 30_000 }).toBe(503);
    expect((await download('203.0.113.2')).status).toBe(200);
    upload.end();
    await upload.sent;
  });

  it('is told where a proxy finds the file, where it came by one; any other client gets the file', async () => {
    const accelRedirect = [{ folder, location: '/_f/' }];
    const sends = await installation.open(undefined, { trustedProxies: ['127.0.0.1'], accelRedirect });
    const trustsNobody = await installation.open(undefined, { accelRedirect });
    const told = await httpRequest(sends.url, file('shown'));
    expect([told.status, told.text(), told.headers['x-accel-redirect']]).toEqual([200, '', '/_f/shown']);
    const gateway = await httpRequest(sends.url, file('shown', { headers: { 'wharf-from-proxy': 'yes' } }));
    expect(gateway.headers['x-accel-redirect']).toBe('/_f/shown');
    for (const headers of [{}, { 'wharf-from-proxy': 'yes' }]) {
      const sent = await httpRequest(trustsNobody.url, file('shown', { headers }));
      expect([sent.text(), sent.headers['x-accel-redirect']]).toEqual(['text', undefined]);
    }
    expect((await httpRequest(sends.url, file('none'))).status).toBe(404);
  });

  it('that came through this installation already is refused, and told whose the answer is', async () => {
    const own = behindProxy.kit.keys.installation;
    const answer = await httpRequest(behindProxy.url, file('shown', { headers: { 'X-Wharf-Hops': own } }));
    expect([answer.headers['x-error-code'], answer.headers['x-wharf-installation']]).toEqual(['CIRCULAR_MOUNT', own]);
    const through = await httpRequest(behindProxy.url, file('shown', { headers: { 'X-Wharf-Hops': '0'.repeat(32) } }));
    expect([through.status, through.text()]).toEqual([200, 'text']);
  });
});
