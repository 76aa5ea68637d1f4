import { once } from 'node:events';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { makeCertificate } from './certificate.ts';
import { httpRequest } from './http.ts';
import { startHttpServer } from './http-server.ts';
import { isAvailable, isMissing } from './required.ts';

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

const certificate = await makeCertificate('localhost');

it.runIf(isAvailable('openssl', certificate))('speaks HTTPS with a certificate that nobody else has signed', async () => {
  if (isMissing(certificate)) return;
  const server = await startHttpServer((_request, response) => void response.end('sealed'), certificate);
  await expect(fetch(server.url)).rejects.toMatchObject({ cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  const trusting = get(server.url, { rejectUnauthorized: false, agent: false });
  const [response] = await once(trusting, 'response');
  expect(await text(response)).toBe('sealed');
  await server.stop();
});
