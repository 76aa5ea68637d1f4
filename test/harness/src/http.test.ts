import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { at } from './api.ts';
import { describeContent, generateContent } from './content.ts';
import { download, httpRequest, upload } from './http.ts';

const SIZE_BYTES = 3_000_001;
const CONTENT = describeContent('content', SIZE_BYTES);

const handler: RequestListener = async (request, response) => {
  if (request.url === '/content') {
    for (const chunk of generateContent('content', SIZE_BYTES))
      if (!response.write(chunk)) await once(response, 'drain').catch(() => undefined);
    response.end();
  } else if (request.url === '/early') {
    response.writeHead(413, { connection: 'close' }).end('too large');
  } else if (request.url === '/moved') {
    response.writeHead(302, { location: '/content' }).end();
  } else if (request.url !== '/silent') {
    const body = await request.toArray();
    response.end(
      JSON.stringify({
        method: request.method,
        url: request.url,
        headers: request.headers,
        size: Buffer.concat(body).length,
        text: String(body[0] ?? ''),
      }),
    );
  }
};

const server = createServer(handler).listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${at(server.address(), 'port')}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('httpRequest', () => {
  it('sends the path as it is', async () => {
    const path = '//a/../b/%2e%2e/./c?x=%00&y=[]';
    expect((await httpRequest(base, { path })).json()).toMatchObject({ method: 'GET', url: path });
  });

  it('sends headers and a body, and leaves a redirect to the caller', async () => {
    const answer = await httpRequest(base, { path: '/echo', method: 'POST', headers: { 'x-one': '1' }, body: 'hello' });
    expect(answer.json()).toMatchObject({ method: 'POST', text: 'hello', headers: { 'x-one': '1' } });
    expect(await httpRequest(base, { path: '/moved' })).toMatchObject({ status: 302, headers: { location: '/content' } });
  });

  it('a refused connection, silence and an abort are errors', async () => {
    await expect(httpRequest('http://127.0.0.1:1', { path: '/' })).rejects.toThrow('ECONNREFUSED');
    await expect(httpRequest(base, { path: '/silent', idleTimeoutMs: 50 })).rejects.toThrow('GET /silent: nothing came for 50 ms');
    const aborted = httpRequest(base, { path: '/silent', signal: AbortSignal.timeout(50) });
    await expect(aborted).rejects.toThrow('aborted');
  });
});

describe('streams', () => {
  it('a download is counted and digested', async () => {
    expect(await download(base, { path: '/content' })).toMatchObject({ status: 200, ...CONTENT });
  });

  it('throwing from the byte count ends the connection', async () => {
    const stopped = download(base, { path: '/content' }, (bytes) => {
      if (bytes > 100_000) throw new Error('enough');
    });
    await expect(stopped).rejects.toThrow('enough');
  });

  it('an upload is counted and digested', async () => {
    const answer = await upload(base, { path: '/up', body: generateContent('content', SIZE_BYTES) });
    expect(answer.json()).toMatchObject({ method: 'PUT', size: SIZE_BYTES, headers: { 'transfer-encoding': 'chunked' } });
    expect(answer.sent).toEqual(CONTENT);
  });

  it('an answer that comes before the whole body was read counts', async () => {
    const answer = await upload(base, { path: '/early', body: generateContent('content', 50_000_000) });
    expect([answer.status, answer.text()]).toEqual([413, 'too large']);
    expect(answer.sent.sizeBytes).toBeLessThan(50_000_000);
  });

  it('a body that fails is the error of the upload', async () => {
    function* broken() {
      yield Buffer.from('some');
      throw new Error('disk gone');
    }
    await expect(upload(base, { path: '/up', body: broken() })).rejects.toThrow('disk gone');
  });
});
