import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, expect, it } from 'vitest';
import { api, at, login } from './api.ts';

const server = createServer(async (request, response) => {
  const text = Buffer.concat(await request.toArray()).toString();
  if (request.url === '/page') return response.end('<html>');
  const answer = (code: number, message: string, data: unknown) => response.end(JSON.stringify({ code, message, data }));
  if (request.url !== '/api/auth/login') return answer(200, 'success', { token: request.headers.authorization ?? null, text });
  const body: unknown = JSON.parse(text);
  return at(body, 'password') === 'right' ? answer(200, 'success', { token: 'abc' }) : answer(400, 'wrong password', null);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${at(server.address(), 'port')}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it('a login sends its token raw from then on', async () => {
  const caller = await login(base, 'admin', 'right');
  expect(caller.token).toBe('abc');
  expect(await caller.get('/api/me')).toMatchObject({ status: 200, code: 200, message: 'success', data: { token: 'abc', text: '' } });
  expect(await caller.call('/api/fs/list', { path: '/' })).toEqual({ token: 'abc', text: '{"path":"/"}' });
});

it('a refused login is an error with the message', async () => {
  await expect(login(base, 'admin', 'wrong')).rejects.toThrow('POST /api/auth/login answered 400: wrong password');
});

it('an answer that is no envelope is an error', async () => {
  await expect(api(base).get('/page')).rejects.toThrow('GET /page answered 200 without an envelope: <html>');
});

it('at() walks into objects and arrays and answers undefined where there is nothing', () => {
  const value = { content: [{ name: 'a' }] };
  expect([at(value, 'content', 0, 'name'), at(value, 'content', 1, 'name'), at(value, 'toString'), at(null, 'x'), at(5)]).toEqual([
    'a',
    undefined,
    undefined,
    undefined,
    5,
  ]);
});
