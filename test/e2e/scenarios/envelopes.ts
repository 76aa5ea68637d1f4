import { type Api, api, at, type HttpRequest, httpRequest, login } from '@wharf/harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { authorization, put, readEnvelope } from '../support/files.ts';
import { inParallel } from '../support/in-parallel.ts';
import { makePerson, withGuest } from '../support/people.ts';
import { exchangeRaw } from '../support/raw-request.ts';
import type { World } from '../support/world.ts';
import { ENVELOPE_CASES, type EnvelopeCase } from './envelope-cases.ts';

const WIDTH = 6;
const MIB = 1024 * 1024;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly access: unknown;
  readonly hasBody: boolean;
}

/** Every answer under /api is an envelope with HTTP 200, and says in the family's words what went wrong. */
export function envelopes(world: World): void {
  const { admin, base } = world;

  /** All documented operations. */
  const operations = async (): Promise<Operation[]> => {
    const paths = at((await httpRequest(base, { path: '/api/openapi.json' })).json(), 'paths');
    return Object.entries(Object(paths)).flatMap(([path, methods]) =>
      Object.entries(Object(methods)).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        access: at(operation, 'x-wharf-access'),
        hasBody: at(operation, 'requestBody') !== undefined,
      })),
    );
  };
  /** Sends anything and reads the envelope, which must not show our insides. */
  const ask = async (options: HttpRequest, caller: Api = admin) => {
    const answer = await httpRequest(base, { ...options, headers: { ...authorization(caller), ...options.headers } });
    const shown = `${options.method ?? 'GET'} ${options.path.slice(0, 100)}`;
    expect(answer.text(), shown).not.toMatch(/\.ts:\d+|node:internal|\n\s+at |internal error|Mongo(?:DB|ose|Server)|ECONN[A-Z]|ZodError/);
    expect(answer.headers['content-type'], shown).toMatch(/^application\/json/);
    return { ...readEnvelope(answer), headers: answer.headers };
  };
  const json = { 'content-type': 'application/json' };

  describe('envelopes', () => {
    let folder: string;
    let person: Api;
    beforeAll(async () => {
      folder = (await world.folder('envelopes')).path;
      for (const file of ['file.txt', 'other.txt', 'taken.txt', 'sub/taken.txt', 'guarded/x.txt'])
        await put(admin, base, `${folder}/${file}`, file);
      await admin.call('/api/admin/meta/create', { id: 0, path: `${folder}/guarded`, password: 'secret' });
      person = await makePerson(world);
    });

    test('each refusal has its code and its literal message', async () => {
      await withGuest(world, async (guest) => {
        for (const each of ENVELOPE_CASES.filter(({ as }) => as === 'guest')) await check(each, guest);
      });
      const callers = { admin, user: person, nobody: api(base) };
      for (const each of ENVELOPE_CASES) if (each.as !== 'guest') await check(each, callers[each.as]);
      // A right login forgives the wrong ones above.
      await login(base, 'admin', world.wharf.adminPassword);
    });
    const check = async ({ call, body, code, message, data = null }: EnvelopeCase, caller: Api) => {
      const [method = '', path = ''] = call.split(' ');
      const text = body === undefined ? undefined : JSON.stringify(body).replaceAll('{folder}', folder);
      const answer = await ask({ method, path, ...(text === undefined ? {} : { headers: json, body: text }) }, caller);
      const shown = `${call} ${text ?? ''}`;
      expect(answer.code, `${shown}: ${answer.message}`).toBe(code);
      if (typeof message === 'string') expect(answer.message, shown).toBe(message);
      else expect(answer.message, shown).toMatch(message);
      expect(answer.data, shown).toEqual(data);
    };

    test('every documented route has a row in that table', async () => {
      const inTable = new Set(ENVELOPE_CASES.map(({ call }) => call.split(' ')[1]?.split('?')[0]));
      expect([...new Set((await operations()).map(({ path }) => path))].filter((path) => !inTable.has(path))).toEqual([]);
    });

    test('who may not call a route is told so before anything else is looked at', async () => {
      const all = await operations();
      await inParallel(WIDTH, all, async ({ method, path, access }) => {
        const request = { method, path, headers: json, body: method === 'GET' ? '' : '{"broken' };
        if (access === 'public') return;
        expect(await ask(request, api(base)), path).toMatchObject({
          code: 401,
          message: 'Guest user is disabled, login please',
          data: null,
        });
        expect(await ask(request, api(base, 'no.such.token')), path).toMatchObject({ code: 401, data: null });
        if (access === 'admin')
          expect(await ask(request, person), path).toMatchObject({ code: 403, message: 'You are not an admin', data: null });
      });
    });

    test('bodies that are no JSON, of another shape, of wrong types or far too deep are refused in words', async () => {
      const bodies = [
        '{',
        '{"path":',
        '"text"',
        '5',
        'true',
        '[[]]',
        '\u0000',
        '{"path":{}}',
        '{"path":5,"id":"x","names":5,"key":5}',
        `${'['.repeat(50_000)}`,
        `${'{"data":'.repeat(5000)}1${'}'.repeat(5000)}`,
        '{"__proto__":{"path":5},"constructor":5}',
      ];
      // These act without any input.
      const acting =
        /reset_token|logout|2fa\/generate|load_all|task|setting\/default|share|public|index|scan|message|del_cache|webauthn|authn|sso|ldap|multipart|archive|torrent|direct_upload|set_/;
      const all = (await operations()).filter(({ path, method }) => method === 'POST' && !acting.test(path));
      const calls = all.flatMap((operation) => bodies.map((body) => ({ ...operation, body })));
      await inParallel(WIDTH, calls, async ({ method, path, hasBody, body }) => {
        const answer = await ask({ method, path, headers: json, body });
        if (hasBody && !body.startsWith('{"')) expect(answer.code, `${path} ${body.slice(0, 50)}: ${answer.message}`).toBe(400);
        expect(answer.code === 200 || answer.data === null || at(answer.data, 'id') === 0, `${path} ${body.slice(0, 50)}`).toBe(true);
      });
      for (const { path } of all.filter(({ hasBody }) => hasBody))
        expect(await ask({ method: 'POST', path, headers: json }), path).toMatchObject({
          code: 400,
          // What the family says of any input that it cannot use there.
          message: path === '/api/me/sshkey/add' ? 'request invalid' : 'EOF',
        });
      await login(base, 'admin', world.wharf.adminPassword);
    });

    test('wrong types are refused by the name of the field', async () => {
      const cases: [string, unknown, string][] = [
        ['/api/fs/list', { path: 5 }, 'path'],
        ['/api/fs/list', { path: folder, page: '1' }, 'page'],
        ['/api/fs/list', { path: folder, per_page: 1.5 }, 'per_page'],
        ['/api/fs/list', { path: folder, refresh: 'true' }, 'refresh'],
        ['/api/fs/remove', { dir: folder, names: 'file.txt' }, 'names'],
        ['/api/fs/remove', { dir: folder, names: [5] }, 'names'],
        ['/api/fs/rename', { path: `${folder}/file.txt`, name: 'x', overwrite: 1 }, 'overwrite'],
        ['/api/admin/user/create', { username: 'x', permission: 'all' }, 'permission'],
        ['/api/admin/meta/create', { path: '/x', write: 'yes' }, 'write'],
        ['/api/admin/storage/create', { mount_path: '/x', order: '1' }, 'order'],
        ['/api/admin/setting/save', [{ key: 'site_title', value: 5 }], 'value'],
      ];
      for (const [path, body, field] of cases) {
        const answer = await admin.post(path, body);
        expect([answer.code, answer.message], path).toEqual([400, expect.stringContaining(field)]);
      }
    });

    test('keys count in any letter case, unknown ones not at all, and null is as if it were not there', async () => {
      expect(await admin.post('/api/fs/list', { PATH: folder, Per_Page: 1, unknown: [1] })).toMatchObject({
        code: 200,
        data: { total: 5 },
      });
      expect(at((await admin.post('/api/fs/list', { Path: folder, PER_PAGE: 2 })).data, 'content')).toHaveLength(2);
      expect(await admin.post('/api/fs/list', { path: folder, password: null, page: null, per_page: null, refresh: null })).toMatchObject({
        code: 200,
        data: { total: 5 },
      });
      expect(await admin.post('/api/fs/list', { path: null })).toMatchObject({ code: 200 });
    });

    test('queries and forms do where clients use them, whatever content type they name', async () => {
      const path = encodeURIComponent(folder);
      const listed = { code: 200, message: 'success', data: { total: 5 } };
      expect(await admin.get(`/api/fs/list?path=${path}&page=1&per_page=2`)).toMatchObject(listed);
      expect(await admin.get(`/api/fs/get?path=${path}`)).toMatchObject({ code: 200, data: { is_dir: true } });
      expect(await admin.get(`/api/fs/dirs?path=${path}&force_root=true`)).toMatchObject({
        code: 200,
        data: [{ name: 'guarded' }, { name: 'sub' }],
      });
      expect(await admin.get('/api/fs/list')).toMatchObject({ code: 200 });
      expect(await admin.get(`/api/fs/list?path=${path}&page=x`)).toMatchObject({ code: 400 });
      const send = (body: string, type?: string) =>
        ask({ method: 'POST', path: '/api/fs/list', ...(type === undefined ? {} : { headers: { 'content-type': type } }), body });
      for (const type of ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=utf-8', undefined])
        expect(await send(`path=${path}&per_page=2&password=`, type), String(type)).toMatchObject(listed);
      const jsonText = JSON.stringify({ path: folder });
      for (const type of ['application/json', 'application/json; charset=UTF-8', 'APPLICATION/JSON', undefined, 'text/plain'])
        expect(await send(jsonText, type), String(type)).toMatchObject(listed);
      for (const type of [
        'multipart/form-data',
        'multipart/form-data; boundary=',
        'image/png',
        'x',
        ';;;',
        'application/json;;;=',
        'a'.repeat(5000),
      ])
        expect([200, 400], type).toContain((await send('\u0001\u0002', type)).code);
      expect(await send('', 'application/json')).toMatchObject({ code: 400, message: 'EOF' });
      expect(
        await ask({
          method: 'POST',
          path: `/api/auth/login`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `username=admin&password=${world.wharf.adminPassword}`,
        }),
      ).toMatchObject({ code: 200 });
    });

    test('routes that are not there and methods that are not answered are envelopes too', async () => {
      for (const path of [
        '/api',
        '/api/',
        '/api/nothing',
        '/api/fs',
        '/api/fs/list/',
        '/api/fs//list',
        '/api/FS/LIST',
        '/api/fs/list%00',
        '/api/../api/x',
        '/api/admin',
        '/api/%',
        '/api/openapi.json/x',
      ])
        for (const method of ['GET', 'POST', 'PUT', 'DELETE']) expect((await ask({ method, path })).code, `${method} ${path}`).toBe(404);
      const all = await operations();
      // Some routes answer every method, as the family's do; they are documented under two.
      for (const { path } of all.filter((each) => all.filter(({ path: other }) => other === each.path).length === 1))
        for (const method of ['DELETE', 'PATCH']) expect((await ask({ method, path })).code, `${method} ${path}`).toBe(405);
      expect((await ask({ method: 'GET', path: '/api/auth/login' })).code).toBe(405);
      expect((await ask({ method: 'POST', path: '/api/fs/put' })).code).toBe(405);
      const head = await httpRequest(base, { method: 'HEAD', path: '/api/me', headers: authorization(admin) });
      expect([head.status, head.body.length]).toEqual([200, 0]);
    });

    test('an empty Authorization is the guest, and a token of any size is refused in words', async () => {
      const me = (authorizationHeader: string) => ask({ path: '/api/me', headers: { authorization: authorizationHeader } }, api(base));
      for (const empty of ['', ' '])
        expect(await me(empty), JSON.stringify(empty)).toMatchObject({ code: 401, message: 'Guest user is disabled, login please' });
      for (const token of ['x', 'Bearer x', 'Basic YWRtaW46YWRtaW4=', 'x'.repeat(1000), 'x'.repeat(20_000)])
        expect((await me(token)).code).toBe(401);
      const { hostname, port } = new URL(base);
      const huge = await exchangeRaw(
        base,
        `GET /api/me HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${'x'.repeat(MIB)}\r\nConnection: close\r\n\r\n`,
      );
      expect(huge.status).toBeLessThan(500);
      expect(JSON.parse(huge.body)).toMatchObject({ code: expect.any(Number), message: expect.stringMatching(/./), data: null });
      expect(await admin.get('/api/me')).toMatchObject({ code: 200 });
    });

    test('bodies that are too large are refused in words, in every form', async () => {
      const large = `{"path":"${'x'.repeat(8 * MIB)}"}`;
      for (const path of ['/api/fs/list', '/api/admin/setting/save', '/api/auth/login'])
        for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain'])
          expect((await ask({ method: 'POST', path, headers: { 'content-type': type }, body: large })).code, `${path} ${type}`).toBe(400);
      const chunked = await ask({
        method: 'POST',
        path: '/api/fs/list',
        headers: json,
        body: Array.from({ length: 32 }, () => Buffer.alloc(MIB, 'x')),
      });
      expect(chunked.code).toBe(400);
      const unread = await ask({ method: 'DELETE', path: '/api/nothing', headers: { 'content-length': large.length }, body: large });
      expect(unread.code).toBe(404);
      expect((await admin.post('/api/fs/list', { path: `/${'x'.repeat(100_000)}` })).code).toBe(400);
      expect((await admin.post('/api/fs/remove', { dir: folder, names: Array.from({ length: 1_000 }, () => 'missing') })).code).toBeTypeOf(
        'number',
      );
      expect((await api(base).post('/api/auth/login', { username: 'admin', password: 'x'.repeat(3 * MIB) })).code).not.toBe(200);
      await login(base, 'admin', world.wharf.adminPassword);
    });

    test('what is no HTTP is refused, and nobody else notices', async () => {
      for (const bytes of [
        'GARBAGE\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        'GET /api/me HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
        'POST /api/fs/list HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        'POST /api/fs/list HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      ]) {
        const { status, body } = await exchangeRaw(base, bytes);
        expect(status, bytes.slice(0, 60)).toBeLessThan(500);
        expect(body).not.toMatch(/node:internal|\.ts:\d/);
      }
      expect(await admin.get('/api/me')).toMatchObject({ code: 200 });
    });
  });
}
