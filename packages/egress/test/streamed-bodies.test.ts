import { once } from 'node:events';
import type http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEgress, createEgressPolicy, type GuardedClient } from '../src/index.ts';

/** The address of a server that ends with its test. */
async function serve(handler: http.RequestListener): Promise<URL> {
  const server = await startHttpServer(handler);
  onTestFinished(() => server.stop());
  return new URL(server.url);
}

function openClient(): GuardedClient {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const client = egress.openClient({ maxConnections: 2 });
  onTestFinished(() => client.close());
  return client;
}

describe('a body in pieces', () => {
  it('arrives whole, and each piece is done with before the next is asked for', async () => {
    let received = Buffer.alloc(0);
    const url = await serve(async (request, response) => {
      received = await buffer(request);
      response.end('thanks');
    });
    const lent = async function* () {
      for (let round = 0; round < 40; round++) {
        const piece = Buffer.alloc(100_000, round);
        yield piece;
        piece.fill(255);
      }
    };
    const answer = await openClient().request({ url, method: 'PUT', headers: { 'Content-Length': '4000000' }, body: lent() });
    expect(await text(answer)).toBe('thanks');
    expect(received.byteLength).toBe(4_000_000);
    for (let round = 0; round < 40; round++) expect(received[round * 100_000 + 99_999]).toBe(round);
  });

  it('fails with the error of its source', async () => {
    const url = await serve((request) => request.resume());
    const failure = new Error('no more');
    const broken = async function* () {
      yield Buffer.alloc(1000);
      throw failure;
    };
    await expect(openClient().request({ url, method: 'PUT', body: broken() })).rejects.toBe(failure);
  });

  it('is not read on once it is answered', async () => {
    const url = await serve((_request, response) => response.writeHead(403).end('no'));
    const ended = Promise.withResolvers<void>();
    const endless = async function* () {
      try {
        for (;;) yield Buffer.alloc(100_000);
      } finally {
        ended.resolve();
      }
    };
    const client = openClient();
    const answer = await client.request({ url, method: 'PUT', body: endless() });
    expect([answer.statusCode, await text(answer)]).toEqual([403, 'no']);
    await ended.promise;
    expect(await text(await client.request({ url }))).toBe('no');
  });

  it('whose source has stalled is left when the request is aborted', async () => {
    const url = await serve((request) => request.resume());
    const abort = new AbortController();
    const stalled = async function* () {
      yield Buffer.alloc(1000);
      abort.abort();
      await new Promise(() => undefined);
    };
    const asking = openClient().request({ url, method: 'PUT', body: stalled(), signal: abort.signal });
    await expect(asking).rejects.toSatisfy((error) => AppError.is(error, 'CANCELLED'));
  });
});

it('of a body in memory nothing is sent after its answer: that memory may hold something else by then', async () => {
  // More than the system takes of it at once.
  const body = Buffer.alloc(16 * 1024 * 1024, 'A');
  const received: Buffer[] = [];
  const goOn = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const server = net.createServer({ pauseOnConnect: true }, async (socket) => {
    socket.on('error', () => undefined).write('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    await goOn.promise;
    const take = (bytes: Buffer) => {
      received.push(bytes);
      if (bytes.includes('BBB')) ended.resolve();
    };
    socket.once('close', ended.resolve).on('data', take).resume();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const answer = await openClient().request({ url, method: 'PUT', headers: { 'Content-Length': String(body.byteLength) }, body });
  expect([answer.statusCode, await text(answer)]).toEqual([403, '']);
  body.fill('B');
  goOn.resolve();
  await ended.promise;
  expect(Buffer.concat(received).includes('BBB')).toBe(false);
});

/** More than the systems of both ends hold. */
const BIG = Buffer.alloc(16 * 1024 * 1024);
const inOne = async function* () {
  yield BIG;
};
const inMany = async function* () {
  for (let piece = 0; piece < 256; piece++) yield BIG.subarray(0, BIG.byteLength / 256);
};

it.each([
  ['in memory', () => BIG, true],
  ['in one piece of known length', inOne, true],
  ['in many pieces', inMany, false],
])('an answer before all of a body %s has left is known for it, and one after that is not', async (_, body, hasLength) => {
  const url = await serve((request, response) => {
    if (request.url === '/early')
      return void request.once('data', () => {
        request.pause();
        response.writeHead(200, { Connection: 'close' }).end();
      });
    request.resume().once('end', () => response.end());
  });
  const headers = hasLength ? { 'Content-Length': String(BIG.byteLength) } : {};
  const client = openClient();
  const early = await client.request({ url: new URL('/early', url), method: 'PUT', headers, body: body() });
  early.destroy();
  for (let round = 0; round < 5; round++) {
    const whole = await client.request({ url, method: 'PUT', headers, body: body() });
    expect([early.isEarly, whole.isEarly]).toEqual([true, false]);
    expect(await text(whole)).toBe('');
  }
});

it('an answer to a body whose length has left is not early where its source is slow to end', async () => {
  const answered = Promise.withResolvers<void>();
  const url = await serve((request, response) => void request.resume().once('end', () => response.end('all')));
  const slow = async function* () {
    yield Buffer.from('hello');
    await answered.promise;
  };
  const answer = await openClient().request({ url, method: 'PUT', headers: { 'Content-Length': '5' }, body: slow() });
  answered.resolve();
  expect([answer.isEarly, await text(answer)]).toEqual([false, 'all']);
});

describe('a plain connection', () => {
  it('leads where the policy lets it, and nowhere else', async () => {
    const url = await serve(() => undefined);
    const place = { host: '127.0.0.1', port: Number(url.port) };
    const admin = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const socket = await admin.connect(place);
    socket.write('GARBAGE\r\n\r\n');
    expect(await text(socket)).toContain('400');
    const guarded = createEgress(createEgressPolicy({ allow: [], forbidden: [place], audience: 'admin' }));
    await expect(guarded.connect(place)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(admin.connect({ host: '169.254.169.254', port: 80 })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('that nobody takes fails, and one that is aborted ends', async () => {
    const admin = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const server = await startHttpServer(() => undefined);
    await server.stop();
    await expect(admin.connect({ host: server.host, port: server.port })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await expect(admin.connect({ host: '127.0.0.1', port: 1, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});
