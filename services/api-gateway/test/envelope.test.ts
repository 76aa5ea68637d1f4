import { Agent, request } from 'node:http';
import { AppError, isErrorCode } from '@wharf/errors';
import { generateContent, type HttpAnswer } from '@wharf/harness';
import { createInternalTokens } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../src/api/route.ts';
import { BYTE_ROUTES, ROUTES } from '../src/api/route-table.ts';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';
import { requiredFields, sampleInput, wrongInputs } from './sample-input.ts';

const AS_ADMIN = { Authorization: PERMANENT_TOKEN };
const JSON_TYPE = { 'Content-Type': 'application/json' };
const FIVE_MIB = Buffer.alloc(5 * 1024 * 1024, ' ');

let gateway: Gateway;

beforeAll(async () => {
  gateway = await openGateway();
}, 60_000);
afterAll(() => gateway?.close());

/** The rules of every answer under /api, whatever was asked. */
function envelopeOf(answer: HttpAnswer, asked: string): { code: number; message: string; data: unknown } {
  const context = `${asked} -> ${answer.status} ${answer.text().slice(0, 200)}`;
  expect(answer.status, context).toBe(200);
  expect(answer.headers['content-type'], context).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-content-type-options'], context).toBe('nosniff');
  expect(answer.headers['x-request-id'], context).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers['x-powered-by'], context).toBeUndefined();
  expect(answer.text(), context).not.toMatch(/\bat .+:\d+:\d+|node_modules|file:\/\//);
  const envelope = JSON.parse(answer.text());
  expect(envelope, context).toEqual({ code: expect.any(Number), message: expect.any(String), data: envelope.data });
  expect(envelope.message, context).not.toBe('');
  const named = answer.headers['x-error-code'];
  expect(envelope.code === 200 ? named === undefined : isErrorCode(String(named)), `${context}: ${named}`).toBe(true);
  return envelope;
}

const postable = ROUTES.filter((route) => route.methods === 'any' || route.methods.includes('POST'));
const post = async (route: Route, body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) =>
  envelopeOf(await gateway.request({ method: 'POST', path: route.path, headers: { ...AS_ADMIN, ...headers }, body }), `POST ${route.path}`);

/** What comes with a refused input. */
const refusedData = (route: Route) => route.failureData?.of(new AppError('INVALID_ARGUMENT', '')) ?? null;

describe('every route answers an envelope', () => {
  it.each(['{"path": ', '{"a":1}}', "{'a':1}", 'null null', '[', '\u0000'])('400 for %j, which is not JSON', async (text) => {
    for (const route of postable) {
      const { code, message, data } = await post(route, text);
      expect([code, message, data], route.path).toEqual([400, route.refusal ?? 'the body is not valid JSON', refusedData(route)]);
    }
  });

  it('400 for each field of a wrong type', async () => {
    let tried = 0;
    for (const route of postable)
      for (const input of wrongInputs(route)) {
        const { code, data } = await post(route, JSON.stringify(input));
        expect([code, data], `${route.path} ${JSON.stringify(input)}`).toEqual([400, refusedData(route)]);
        tried += 1;
      }
    expect(tried).toBeGreaterThan(100);
  });

  it('400 for each missing field, named in a sentence', async () => {
    for (const route of postable)
      for (const field of requiredFields(route)) {
        const input = { ...(sampleInput(route) as Record<string, unknown>) };
        delete input[field];
        const { code, message } = await post(route, JSON.stringify(input));
        expect([code, message], route.path).toEqual([400, route.refusal ?? `the field '${field}' is required`]);
      }
  });

  it('400 EOF for no body where one is bound, although its type says JSON', async () => {
    for (const route of postable.filter(({ takes }) => takes === 'body'))
      expect((await post(route, '')).message, route.path).toBe(route.refusal ?? 'EOF');
  });

  it('400 for a body that is too large, which is read to its end', async () => {
    for (const route of postable) {
      const { code, message } = await post(route, FIVE_MIB);
      expect([code, message], route.path).toEqual([400, 'the body is larger than 4 MiB']);
    }
  });

  it('400 for more fields or values than anybody needs, in every form', async () => {
    const text = 'application/x-www-form-urlencoded';
    const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
    const bodies: [string, string, string][] = [
      [text, 'a&'.repeat(2_000_000), 'no more than 20000 fields at once'],
      [text, 'a=b&'.repeat(1_000_000), 'no more than 20000 fields at once'],
      ['multipart/form-data; boundary=b', `${part.repeat(60_000)}--b--`, 'no more than 20000 fields at once'],
      ['application/json', `[${'0,'.repeat(2_000_000)}0]`, 'the body has more than 50000 values'],
      ['application/json', '['.repeat(4_000_000), 'the body is nested too deeply'],
    ];
    for (const [type, body, message] of bodies) {
      const asked = { method: 'POST', path: '/api/auth/login', headers: { 'Content-Type': type }, body };
      expect(envelopeOf(await gateway.request(asked), `POST ${type}`)).toMatchObject({ code: 400, message, data: null });
    }
  });

  it('400 for a body of unknown length that turns out too large, also when it goes on and on', async () => {
    for (const sizeBytes of [5 * 1024 * 1024, 100 * 1024 * 1024]) {
      const asked = { method: 'POST', path: '/api/auth/login', headers: JSON_TYPE, body: generateContent('x', sizeBytes) };
      expect(envelopeOf(await gateway.request(asked), 'POST /api/auth/login')).toMatchObject({ code: 400, data: null });
    }
  });

  it('405 for a method it does not answer', async () => {
    for (const route of [...ROUTES, ...BYTE_ROUTES]) {
      const answered: readonly string[] | 'any' = 'method' in route ? [route.method] : route.methods;
      if (answered === 'any') continue;
      for (const method of ['DELETE', 'PATCH', 'GET', 'POST', 'PUT']) {
        if (answered.includes(method)) continue;
        const answer = await gateway.request({ method, path: route.path, headers: { ...AS_ADMIN, 'Content-Length': 1 }, body: 'x' });
        expect(envelopeOf(answer, `${method} ${route.path}`).code).toBe(405);
      }
    }
  });

  it('401 for an empty Authorization, which is the guest, who is disabled', async () => {
    for (const route of ROUTES.filter(({ access }) => access !== 'public')) {
      const method = route.methods === 'any' ? 'POST' : (route.methods[0] ?? 'GET');
      for (const headers of [{}, { Authorization: '' }, { Authorization: '   ' }, { Authorization: 'Bearer ' }]) {
        const answer = await gateway.request({ method, path: route.path, headers });
        expect(envelopeOf(answer, route.path)).toMatchObject({ code: 401, data: null });
      }
    }
  });

  it.each([
    'GET /api/no/such/route',
    'POST /api/no/such/route',
    'DELETE /api/x',
    'GET /api',
    'GET /api/',
    'GET /api/me/',
    'GET /api//me',
    'GET /api/fs/%2e%2e/me',
    'GET /api/%00',
    'GET /api/%',
    'GET /api/constructor',
    'GET /api/__proto__',
    'PUT /api/fs/put/',
  ])('%s: 404', async (asked) => {
    const [method = '', path = ''] = asked.split(' ');
    const { code, data } = envelopeOf(await gateway.request({ method, path, headers: { 'Content-Length': 2 }, body: '{}' }), asked);
    expect([code, data]).toEqual([404, null]);
  });

  it('HEAD is answered like GET, without a body', async () => {
    const answer = await gateway.request({ method: 'HEAD', path: '/api/me', headers: AS_ADMIN });
    expect([answer.status, answer.body.length, Number(answer.headers['content-length']) > 0]).toEqual([200, 0, true]);
  });

  it('a connection stays usable after a refusal', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports: Array<number | undefined> = [];
    for (const size of [5 * 1024 * 1024, 10, 5 * 1024 * 1024]) {
      await new Promise<void>((resolve, reject) => {
        const outgoing = request(`${gateway.base}/api/auth/login`, { method: 'POST', agent, headers: JSON_TYPE }, (response) => {
          ports.push(response.socket.localPort);
          response.resume().once('end', resolve);
        });
        outgoing.once('error', reject).end(Buffer.alloc(size, ' '));
      });
    }
    agent.destroy();
    expect(new Set(ports).size).toBe(1);
  });
});

describe('errors of the services', () => {
  const call = async (path: string, body: unknown) =>
    envelopeOf(
      await gateway.request({ method: 'POST', path, headers: { ...AS_ADMIN, ...JSON_TYPE }, body: JSON.stringify(body) }),
      `POST ${path}`,
    );

  it('keep their message, with the code of the route', async () => {
    const refuse = (error: AppError) => () => {
      throw error;
    };
    gateway.stubs.answers.set('fs.getEntry', refuse(new AppError('ENTRY_NOT_FOUND', 'object not found')));
    expect(await call('/api/fs/get', { path: '/x' })).toEqual({ code: 500, message: 'object not found', data: null });
    gateway.stubs.answers.set('admin.createStorage', refuse(new AppError('STORAGE_UNAVAILABLE', 'failed init', { details: { id: 7 } })));
    expect(await call('/api/admin/storage/create', { mount_path: '/x' })).toEqual({ code: 500, message: 'failed init', data: { id: 7 } });
    gateway.stubs.answers.set('admin.createStorage', refuse(new AppError('RECORD_NOT_FOUND', 'failed get driver')));
    expect(await call('/api/admin/storage/create', { mount_path: '/x' })).toMatchObject({ code: 500, data: { id: 0 } });
    gateway.stubs.answers.set('admin.getSettings', refuse(new AppError('RECORD_NOT_FOUND', 'record not found')));
    const setting = await gateway.request({ path: '/api/admin/setting/get?key=none', headers: AS_ADMIN });
    expect(setting.json()).toEqual({ code: 400, message: 'record not found', data: null });
    const driver = await gateway.request({ path: '/api/admin/driver/info?driver=__proto__', headers: AS_ADMIN });
    expect(driver.json()).toEqual({ code: 404, message: 'driver [__proto__] not found', data: null });
    gateway.stubs.answers.clear();
  });

  it('log nobody out where a service does not believe the gateway, whose clock may be a minute off', async () => {
    const others = createInternalTokens(Buffer.alloc(32), Date.now);
    gateway.stubs.answers.set('fs.listEntries', () => others.verify('none of theirs'));
    expect(await call('/api/fs/list', { path: '/' })).toMatchObject({ code: 500, message: expect.stringContaining('clocks') });
    gateway.stubs.answers.clear();
  });

  it('say nothing of what nobody foresaw, which is logged once under the request id', async () => {
    gateway.stubs.answers.set('fs.callDriverMethod', { data: 'canary, not JSON' });
    const answer = await gateway.request({ method: 'POST', path: '/api/fs/other', headers: { ...AS_ADMIN, ...JSON_TYPE }, body: '{}' });
    expect(envelopeOf(answer, '/api/fs/other')).toEqual({ code: 500, message: 'internal error', data: null });
    const causes = gateway
      .log()
      .split('\n')
      .filter((line) => line.includes('SyntaxError'));
    expect(causes).toHaveLength(1);
    expect(JSON.parse(causes[0] ?? '')).toMatchObject({ level: 50, requestId: answer.headers['x-request-id'] });
    gateway.stubs.answers.clear();
  });

  it.each([
    ['OVERLOADED', 503, '10'],
    ['STORAGE_UNAVAILABLE', 500, undefined],
  ] as const)('say when to come again where a service has too much to do, whichever (%s)', async (code, envelopeCode, retryAfter) => {
    gateway.stubs.answers.set('fs.listEntries', () => {
      throw new AppError(code, 'too many long listings at once');
    });
    const answer = await gateway.request({ path: '/api/fs/list?path=/', headers: AS_ADMIN });
    expect([answer.json(), answer.headers['retry-after']]).toMatchObject([{ code: envelopeCode }, retryAfter]);
    gateway.stubs.answers.clear();
  });

  it('are masked by the patterns of privacy_regs', async () => {
    await gateway.models.settings.create({
      _id: 'settings',
      revision: 1,
      items: [{ key: 'privacy_regs', value: '(?:\\d{1,3}\\.){3}\\d{1,3}', help: '', type: 'text', options: '', group: 4, flag: 1 }],
    });
    await gateway.models.adminCounters.create({ _id: 'revision', value: 1 });
    gateway.stubs.answers.set('admin.saveSettings', { revision: 1 });
    await call('/api/admin/setting/save', []);
    gateway.stubs.answers.set('fs.getEntry', () => {
      throw new AppError('STORAGE_UNAVAILABLE', 'dial tcp 10.1.2.3:445: refused');
    });
    expect(await call('/api/fs/get', { path: '/x' })).toMatchObject({ message: 'dial tcp ********:445: refused' });
    gateway.stubs.answers.clear();
  });
});

describe('the log', () => {
  it('has one line for each request, and no token, body or query', async () => {
    const body = JSON.stringify({ username: 'canary-name', password: 'canary-password' });
    const answer = await gateway.request({
      method: 'POST',
      path: '/api/auth/login?canary=query',
      headers: { ...JSON_TYPE, Authorization: 'canary-token' },
      body,
    });
    const lines = gateway
      .log()
      .split('\n')
      .filter((line) => line.includes(String(answer.headers['x-request-id'])));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ method: 'POST', route: '/api/auth/login', code: 200, msg: 'request' });
    expect(gateway.log()).not.toMatch(/canary-|canary=|wharf-the-permanent-token/);
    expect(await gateway.kit.metrics.metrics()).toMatch(/http_requests_total\{route="\/api\/auth\/login",code="200"\} \d+/);
  });
});
