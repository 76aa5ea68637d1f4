import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { awaitBody } from '@wharf/pace';
import { afterEach, expect, it, vi } from 'vitest';
import { connectionsOfPort, type HttpListener, listenHttp } from './http-listener.ts';

let listener: HttpListener | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  await listener?.stop(0);
});

const open = async (from = '127.0.0.1'): Promise<Socket> => {
  const socket = connect({ port: listener?.port ?? 0, host: '127.0.0.1', localAddress: from });
  sockets.push(socket.on('error', () => undefined));
  await once(socket, 'connect');
  return socket;
};
const answerOf = async (socket: Socket): Promise<string> => {
  socket.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  return Buffer.concat(await Array.fromAsync(socket).catch(() => [])).toString();
};

it('connections that say nothing neither take the handles that storages need, nor keep others out: the oldest ends for a new one', async () => {
  listener = await listenHttp((_request, response) => response.end('served'), '127.0.0.1', 0, { maxConnections: 3 });
  const [silent, asked] = [await open(), await open()];
  asked.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(asked, 'data');
  const [newest] = [await open()];
  await once(silent.resume(), 'close');
  expect(await answerOf(await open())).toContain('served');
  expect(await answerOf(newest)).toContain('served');
});

it('of a full port no connection ends on which something is under way: a new one is closed', async () => {
  const waiting: ServerResponse[] = [];
  listener = await listenHttp((_request, response) => void waiting.push(response), '127.0.0.1', 0, { maxConnections: 2 });
  const asking: Socket[] = [];
  for (let number = 1; number <= 2; number += 1) {
    const socket = await open();
    asking.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    while (waiting.length < number) await setImmediate();
  }
  expect(await answerOf(await open())).toBe('');
  for (const response of waiting) response.end('served');
  for (const socket of asking) expect(String(await once(socket, 'data'))).toContain('served');
  const later = await open();
  later.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  while (waiting.length < 3) await setImmediate();
  waiting[2]?.end('served');
  expect(String(await once(later, 'data'))).toContain('served');
});

it('of a full port the oldest ends whose body has not come, unless that is awaited, or it began just now', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const begun: IncomingMessage[] = [];
  listener = await listenHttp(
    (request, response) => {
      begun.push(request);
      if (request.headers['x-known'] !== undefined) awaitBody(request);
      request.resume().once('end', () => response.end('served'));
    },
    '127.0.0.1',
    0,
    { maxConnections: 3 },
  );
  const send = async (headers: string): Promise<Socket> => {
    const [socket, before] = [await open(), begun.length];
    socket.write(`PUT / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: 2\r\n\r\nx`);
    while (begun.length === before) await setImmediate();
    return socket;
  };
  const [known, stranger] = [await send('X-Known: yes\r\n'), await send('')];
  // Whose it is may still be looked up.
  await send('');
  expect(await answerOf(await open())).toBe('');
  vi.advanceTimersByTime(2_000);
  const later = await open();
  await once(stranger.resume(), 'close');
  expect(await answerOf(later)).toContain('served');
  known.write('y');
  expect(String(await once(known, 'data'))).toContain('served');
});

it('of a port that is full of bodies that do not come none ends that has only just come, whatever comes after it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let begun = 0;
  const count: RequestListener = (request, response) => {
    begun += 1;
    request.resume().once('end', () => response.end('served'));
  };
  listener = await listenHttp(count, '127.0.0.1', 0, { maxConnections: 64 });
  for (let sent = 0; sent < 62; sent += 1) (await open('127.0.0.2')).write('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
  while (begun < 62) await setImmediate();
  vi.advanceTimersByTime(2_000);
  const come = await open('127.0.0.3');
  for (let host = 4; host < 10; host += 1) await open(`127.0.0.${host}`);
  expect(await answerOf(come)).toContain('served');
});

it('a port takes no more connections than the handles and the heap of its process allow', () => {
  const many = 100_000;
  const wide = 8 * 1024 ** 3;
  expect(connectionsOfPort(many, wide)).toBe(10_000);
  expect(connectionsOfPort(1_024, wide)).toBe(512);
  // What Node takes of a container of 512 MiB.
  expect(connectionsOfPort(many, 256 * 1024 ** 2)).toBe(1_365);
});

it('one address has its share of the connections alone; others are served meanwhile, and a proxy has as many as it needs', async () => {
  const refused: string[] = [];
  const share = {
    perAddress: 2,
    isProxy: (address: string) => address === '127.0.0.9',
    onRefused: (address: string) => refused.push(address),
  };
  listener = await listenHttp((_request, response) => response.end('served'), '127.0.0.1', 0, { share });
  const [first] = [await open(), await open()];
  expect(await answerOf(await open())).toBe('');
  expect(refused).toEqual(['127.0.0.1']);
  expect(await answerOf(await open('127.0.0.2'))).toContain('served');
  for (const socket of [await open('127.0.0.9'), await open('127.0.0.9'), await open('127.0.0.9')])
    expect(await answerOf(socket)).toContain('served');
  expect(await answerOf(first)).toContain('served');
  expect(await answerOf(await open())).toContain('served');
});

it('of a full port connections of a proxy that have just come do not end before those of one address with many', async () => {
  const share = { perAddress: 4, isProxy: (address: string) => address === '127.0.0.9' };
  listener = await listenHttp((_request, response) => response.end('served'), '127.0.0.1', 0, { share, maxConnections: 4 });
  const ofProxy = [await open('127.0.0.9'), await open('127.0.0.9')];
  const [ofMany] = [await open('127.0.0.2'), await open('127.0.0.9')];
  await once(ofMany.resume(), 'close');
  for (const socket of ofProxy) expect(await answerOf(socket)).toContain('served');
});

it('no address has more than half of a port, whatever is configured', async () => {
  const share = { perAddress: 100, isProxy: () => false };
  listener = await listenHttp((_request, response) => response.end('served'), '127.0.0.1', 0, { share, maxConnections: 4 });
  await Promise.all([open(), open()]);
  expect(await answerOf(await open())).toBe('');
  expect(await answerOf(await open('127.0.0.2'))).toContain('served');
});

const said = async (text: string): Promise<string> => {
  const socket = await open();
  socket.end(text);
  return Buffer.concat(await Array.fromAsync(socket).catch(() => [])).toString();
};
const BODY = '3\r\nabc\r\n0\r\n\r\n';
const AFTER = 'GET /after HTTP/1.1\r\nHost: a\r\n\r\n';

it.each([
  ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n', 400],
  ['one host twice', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400],
  ['a host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a host with a user', 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', 400],
  ['one that names none', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['one that expects what nobody does', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n', 417],
  ['one with more headers than are read', `GET / HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(250)}\r\n`, 431],
  ['a body that is compressed on the way', `PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${BODY}`, 501],
  ['the same with a word of its own', `PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x, chunked\r\n\r\n${BODY}`, 501],
])('%s is refused, and nothing after it is read', async (_what, text, status) => {
  const served: (string | undefined)[] = [];
  listener = await listenHttp((request, response) => void response.end(served.push(request.url).toString()), '127.0.0.1', 0);
  const answer = await said(text + AFTER);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(served).toEqual([]);
});

it.each(['Host: a.example:5244', 'Host: [::1]:80', 'Host:', 'Host: a_b', 'Host: a\r\nTransfer-Encoding: Chunked '])(
  '%j is served',
  async (headers) => {
    listener = await listenHttp((request, response) => void request.resume().on('end', () => response.end('served')), '127.0.0.1', 0);
    const body = headers.includes('Chunked') ? BODY : '';
    expect(await said(`PUT / HTTP/1.1\r\nConnection: close\r\n${headers}\r\n\r\n${body}`)).toContain('served');
  },
);

it('one of an earlier version names no host and expects nothing', async () => {
  listener = await listenHttp((_request, response) => void response.end('served'), '127.0.0.1', 0);
  expect(await said('GET / HTTP/1.0\r\nExpect: more\r\n\r\n')).toContain('served');
});

it('what is no HTTP behind a whole request takes its answer from nobody, and the connection ends with that', async () => {
  listener = await listenHttp(
    (request, response) =>
      void request.resume().once('end', async () => {
        // What came with it is read by then.
        await setImmediate();
        response.end('served');
      }),
    '127.0.0.1',
    0,
  );
  const socket = await open();
  socket.write('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok\0 no HTTP\r\n\r\n');
  const answer = Buffer.concat(await Array.fromAsync(socket)).toString();
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*served$/s);
});
