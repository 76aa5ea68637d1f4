import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns';
import { once } from 'node:events';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { AppError } from '@wharf/errors';
import { isAvailable, makeCertificate, waitFor } from '@wharf/harness';
import { collectGarbage } from '@wharf/pace';
import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, createBulkConnections, createEgressPolicy, createGuardedClient } from '../src/index.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server that says to each request, counted from 1, whatever `answer` writes. */
async function serve(answer: (socket: Socket, count: number) => void) {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = net.createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        text = text.slice(end + 4);
        requests += 1;
        answer(socket, requests);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/file?a=1`), sockets, requests: () => requests };
}

function clientOf(allow: readonly string[] = ['127.0.0.1']) {
  const client = createGuardedClient(createEgressPolicy({ allow, forbidden: [], audience: 'user' }), { maxConnections: 4 });
  closing.push(() => client.close());
  const ask = (url: URL, options: { headersTimeoutMs?: number; signal?: AbortSignal; headers?: Record<string, string> } = {}) =>
    client.request({ url, isBulk: true, ...options });
  return { ask };
}

const headOf = (bytes: number, ...fields: string[]) =>
  ['HTTP/1.1 206 Partial Content', `Content-Length: ${bytes}`, ...fields, '', ''].join('\r\n');

/** Pieces are lent: each is copied before the next is asked for. */
async function buffer(answer: Answer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** What many connections hold whose receivers have taken a little, and then nothing. */
async function heldBy(connections: number, roomBytes: number): Promise<number> {
  const much = Buffer.alloc(1024 * 1024, 'x');
  const server = await serve((socket) => {
    const goOn = () => {
      while (!socket.destroyed && socket.write(much));
    };
    socket.on('drain', goOn).write(headOf(2 ** 40));
    goOn();
  });
  const bulk = createBulkConnections(() => lookup, 1_000, { roomBytes });
  closing.push(() => bulk.close());
  collectGarbage('regular');
  const before = process.memoryUsage().arrayBuffers;
  const request = { url: server.url, method: 'GET', headers: {}, body: undefined, signal: new AbortController().signal };
  const answers = await Promise.all(
    Array.from({ length: connections }, () => bulk.ask({ ...request, onConnected: () => undefined, onSent: () => undefined })),
  );
  const readers = answers.map((answer) => (answer as Answer)[Symbol.asyncIterator]());
  for (let round = 0; round < 16; round += 1) await Promise.all(readers.map((reader) => reader.next()));
  collectGarbage('regular');
  return process.memoryUsage().arrayBuffers - before;
}

describe('big bodies', () => {
  it('that many receivers leave standing have big pieces up to a bound together, and small ones beyond it', async () => {
    const held = await heldBy(40, 4 * 3 * 256 * 1024);
    // The first four hold 3 MiB, each other one 96 KiB at most; with big pieces forty held 30 MiB.
    expect(held).toBeLessThan(8 * 1024 * 1024);
  });

  it('arrive as they were sent, one after the other over one connection', async () => {
    const bodies = [randomBytes(3_000_001), Buffer.alloc(0), randomBytes(1), randomBytes(700_000)];
    const { url, sockets } = await serve((socket, count) => {
      const body = bodies[count - 1] ?? Buffer.alloc(0);
      socket.write(headOf(body.byteLength, 'ETag: "x"'));
      socket.write(body);
    });
    const { ask } = clientOf();
    for (const body of bodies) {
      const answer = await ask(url);
      expect([answer.statusCode, answer.headers.etag]).toEqual([206, '"x"']);
      expect((await buffer(answer)).equals(body)).toBe(true);
      expect(answer.complete).toBe(true);
    }
    expect(sockets).toHaveLength(1);
  });

  it('a head may come byte by byte, be long, and follow others that only announce it', async () => {
    const long = `X-Long: ${'a'.repeat(14_000)}`;
    const { url } = await serve(async (socket) => {
      const text = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${headOf(5, long)}hello`;
      for (const letter of text.slice(0, 200)) await new Promise((resolve) => socket.write(letter, resolve));
      socket.write(text.slice(200));
    });
    const { ask } = clientOf();
    // Later heads begin somewhere within a buffer.
    for (let time = 0; time < 20; time++) expect((await buffer(await ask(url))).toString()).toBe('hello');
  });

  it('what is no HTTP, or has a head without end, is an error', async () => {
    for (const text of ['SSH-2.0-x\r\n\r\n', 'HTTP/1.1 101 Switching\r\n\r\n', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(100_000)}`]) {
      const { url } = await serve((socket) => socket.write(text));
      await expect(clientOf().ask(url)).rejects.toThrowError(/no HTTP/);
    }
  });

  it('a body whose length is not announced is asked for again in the ordinary way, once for a server', async () => {
    const { url, requests } = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n'),
    );
    const { ask } = clientOf();
    for (let time = 0; time < 3; time++) expect((await buffer(await ask(url))).toString()).toBe('abc');
    expect(requests()).toBe(4);
  });

  it('of the servers that announce no length a thousand are remembered', async () => {
    const { url, requests } = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n'),
    );
    const bulk = createBulkConnections(() => (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]), 1_000);
    closing.push(() => bulk.close());
    const askAs = (host: number) =>
      bulk.ask({
        ...{ url: new URL(`http://h${host}.example:${url.port}/`), method: 'GET', headers: {}, body: undefined },
        ...{ signal: new AbortController().signal, onConnected: () => undefined, onSent: () => undefined },
      });
    for (let host = 0; host <= 1_000; host++) expect(await askAs(host)).toBeUndefined();
    expect(requests()).toBe(1_001);
    await askAs(1_000);
    expect(requests()).toBe(1_001);
    await askAs(0);
    expect(requests()).toBe(1_002);
  });

  it('one that breaks off gives what came, and an error', async () => {
    const { url } = await serve((socket) => {
      socket.write(headOf(1_000_000));
      socket.end(Buffer.alloc(600_000, 1));
    });
    const answer = await clientOf().ask(url);
    let received = 0;
    const read = async () => {
      for await (const piece of answer) received += piece.length;
    };
    await expect(read()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(received).toBe(600_000);
    expect(answer.complete).toBe(false);
  });

  it('more than was announced is not part of it, and nothing is asked for on that connection again', async () => {
    const { url, sockets } = await serve((socket) => {
      socket.write(`${headOf(5)}hello and more`);
    });
    const { ask } = clientOf();
    for (let time = 0; time < 2; time++) expect((await buffer(await ask(url))).toString()).toBe('hello');
    expect(sockets).toHaveLength(2);
  });

  it('a kept connection that the server closes is replaced', async () => {
    const { url, sockets } = await serve((socket, count) => {
      if (count === 2) socket.destroy();
      else socket.write(`${headOf(2)}ok`);
    });
    const { ask } = clientOf();
    for (let time = 0; time < 2; time++) expect((await buffer(await ask(url))).toString()).toBe('ok');
    expect(sockets).toHaveLength(2);
  });

  it('a piece is not written over while its receiver has it, although the answer was ended meanwhile', async () => {
    const { url, sockets } = await serve((socket, count) => {
      socket.write(headOf(100_000));
      socket.write(Buffer.alloc(100_000, count));
    });
    const { ask } = clientOf();
    const first = await ask(url);
    const pieces = first[Symbol.asyncIterator]();
    let held: Uint8Array = Buffer.alloc(0);
    for (let received = 0; received < 100_000; received += held.byteLength) held = (await pieces.next()).value ?? held;
    first.destroy(new Error('over'));
    for (let time = 0; time < 5; time++) await buffer(await ask(url));
    expect(held.every((byte) => byte === 1)).toBe(true);
    expect(sockets).toHaveLength(2);
  });

  it('who leaves early, or asks a server that wants it, ends the connection', async () => {
    const { url, sockets } = await serve((socket, count) => {
      socket.write(count === 1 ? headOf(10) : `${headOf(2, 'Connection: close')}ok`);
    });
    const { ask } = clientOf();
    (await ask(url)).destroy();
    expect((await buffer(await ask(url))).toString()).toBe('ok');
    await waitFor('both ends', async () => sockets.length === 2 && sockets.every(({ readyState }) => readyState !== 'open'));
  });

  it('an answer ends with the signal of its request, also while its next piece is waited for', async () => {
    const { url, sockets } = await serve((socket) => void socket.write(`${headOf(10)}ok`));
    const caller = new AbortController();
    const answer = await clientOf().ask(url, { signal: caller.signal });
    const reading = (async () => {
      for await (const _ of answer) caller.abort(new AppError('CANCELLED', 'the task was cancelled'));
    })();
    await expect(reading).rejects.toMatchObject({ message: 'the task was cancelled' });
    await waitFor('the end', async () => sockets.every(({ readyState }) => readyState !== 'open'));
  });

  it('only so much waits for a receiver that does not read', async () => {
    const size = 256 * 1024 * 1024;
    let written = 0;
    const { url } = await serve((socket) => {
      socket.write(headOf(size));
      const piece = Buffer.alloc(1024 * 1024);
      const more = () => {
        while (written < size) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', more);
        }
      };
      more();
    });
    const answer = await clientOf().ask(url);
    const before = process.memoryUsage().arrayBuffers;
    const stood: number[] = [];
    // Until the server cannot go on: what it wrote is in its own buffers and the system's.
    await waitFor('the server to stall', async () => stood.push(written) > 1 && stood.at(-1) === stood.at(-2), { everyMs: 200 });
    expect(written).toBeLessThan(64 * 1024 * 1024);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    let received = 0;
    for await (const piece of answer) received += piece.length;
    expect(received).toBe(size);
  });

  it('the limits of time, the policy and the rules for headers hold', async () => {
    const { url, requests } = await serve(() => undefined);
    const { ask } = clientOf();
    await expect(ask(url, { headersTimeoutMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const gone = new AbortController();
    const waiting = ask(url, { signal: gone.signal });
    await waitFor('the request', async () => requests() === 2);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(ask(url, { headers: { Cookie: 'a\r\nHost: other' } })).rejects.toThrowError();
    const { ask: strict } = clientOf([]);
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost'])
      await expect(strict(new URL(`http://${host}:${url.port}/`))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(requests()).toBe(2);
  });

  it('over TLS certificates are verified', async (context) => {
    const certificate = await makeCertificate('files.example');
    if (!isAvailable('openssl', certificate)) return context.skip(certificate.missing);
    const { cert } = certificate;
    const body = randomBytes(2_000_000);
    const server = https.createServer(certificate, (_request, response) => {
      response.setHeader('Content-Length', body.byteLength).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const policy = createEgressPolicy({ allow: ['127.0.0.1'], forbidden: [], audience: 'user', resolve: async () => ['127.0.0.1'] });
    const client = createGuardedClient(policy, { maxConnections: 4 });
    closing.push(() => client.close());
    const ask = (host: string) => client.request({ url: new URL(`https://${host}:${port}/`), isBulk: true });
    await expect(ask('files.example')).rejects.toThrowError(/certificate/);
    const trusted = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...trusted, cert]);
    closing.push(() => tls.setDefaultCACertificates(trusted));
    for (let time = 0; time < 2; time++) expect((await buffer(await ask('files.example'))).equals(body)).toBe(true);
    await expect(ask('other.example')).rejects.toThrowError(/certificate/);
  });
});
