import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ensureCommand } from './debian-package.ts';
import { httpRequest } from './http.ts';
import { startHttpServer } from './http-server.ts';
import { runCommand } from './process.ts';
import { isAvailable } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

it('gives the answers it is told to, honest or not, and ends with what is open', async () => {
  const server = await startHttpServer(async (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { Location: 'http://elsewhere.example/' }).end();
    else if (request.url === '/short') {
      response.writeHead(200, { 'Content-Length': 10 }).write('half');
      await once(request.resume(), 'end');
      throw new Error('enough');
    } else response.write('without an end');
  });
  const moved = await httpRequest(server.url, { path: '/moved' });
  expect([moved.status, moved.headers.location]).toEqual([302, 'http://elsewhere.example/']);
  await expect(httpRequest(server.url, { path: '/short' })).rejects.toThrow('aborted');
  const endless = httpRequest(server.url, { path: '/endless' });
  const ended = expect(endless).rejects.toThrow();
  await server.stop();
  await server.stop();
  await ended;
  await expect(httpRequest(server.url, { path: '/' })).rejects.toThrow('ECONNREFUSED');
  expect(server.requests()).toBeGreaterThanOrEqual(2);
});

const openssl = await ensureCommand('openssl', 'openssl');

it.runIf(isAvailable('openssl', openssl))('speaks HTTPS with a certificate that nobody else has signed', async () => {
  const dir = await makeTempDir('tls');
  const [key, cert] = [join(dir.path, 'key'), join(dir.path, 'cert')];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  await runCommand('openssl', [...made, '-days', '1', '-keyout', key, '-out', cert]);
  const server = await startHttpServer((_request, response) => void response.end('sealed'), {
    key: await readFile(key, 'utf8'),
    cert: await readFile(cert, 'utf8'),
  });
  await expect(fetch(server.url)).rejects.toMatchObject({ cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  const trusting = get(server.url, { rejectUnauthorized: false, agent: false });
  const [response] = await once(trusting, 'response');
  expect(await text(response)).toBe('sealed');
  await server.stop();
  await dir.remove();
});
