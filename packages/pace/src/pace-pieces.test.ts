import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { pacePieces } from './pace-pieces.ts';

function requestWith(headers: http.IncomingHttpHeaders): { request: http.IncomingMessage; asked: number[] } {
  const request = new http.IncomingMessage(new Socket());
  request.headers = headers;
  const asked: number[] = [];
  request._read = (size) => void asked.push(size);
  pacePieces(request);
  request.on('data', () => {});
  return { request, asked };
}

/** How many pieces of one byte are taken before the connection is to wait. */
function taken(request: http.IncomingMessage): number {
  for (let pieces = 1; pieces <= 100_000; pieces += 1) if (!request.push('.')) return pieces;
  return Number.POSITIVE_INFINITY;
}

it('after a thousand pieces of a chunked body its connection is not read until another turn', async () => {
  const { request, asked } = requestWith({ 'transfer-encoding': 'chunked' });
  await setImmediate();
  expect(taken(request)).toBe(1_000);
  asked.length = 0;
  request._read(1);
  request._read(1);
  expect(asked).toEqual([]);
  await setImmediate();
  await setImmediate();
  expect(asked).toHaveLength(1);
  expect(taken(request)).toBe(1_000);
});

it('of several such connections one goes on in a turn', async () => {
  const all = [1, 2, 3].map(() => requestWith({ 'transfer-encoding': 'chunked' }));
  await setImmediate();
  for (const { request, asked } of all) {
    taken(request);
    asked.length = 0;
    request._read(1);
  }
  const going = () => all.filter(({ asked }) => asked.length > 0).length;
  const seen = new Set<number>();
  for (let turns = 0; turns < 10; turns += 1) {
    await setImmediate();
    seen.add(going());
  }
  expect([...seen].filter((count) => count > 0)).toEqual([1, 2, 3]);
});

it('a body that says how long it is goes on as it comes', async () => {
  const { request } = requestWith({ 'content-length': '100000' });
  await setImmediate();
  expect(taken(request)).toBe(Number.POSITIVE_INFINITY);
});

it('a body of many tiny pieces comes whole, in far fewer', async () => {
  const COUNT = 50_000;
  const sent = createHash('sha256');
  const chunks: string[] = [];
  for (let index = 0; index < COUNT; index += 1) {
    const text = index % 1_000 === 999 ? 'x'.repeat(3_000) : String(index % 10);
    sent.update(text);
    chunks.push(`${text.length.toString(16)}\r\n${text}\r\n`);
  }
  let pieces = 0;
  const server = http.createServer(async (request, response) => {
    pacePieces(request);
    const hash = createHash('sha256');
    request.on('data', (piece: Buffer) => {
      pieces += 1;
      hash.update(piece);
    });
    await once(request, 'end');
    response.end(hash.digest('hex'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text;
  });
  socket.end(`PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`);
  await once(socket, 'close');
  expect(answer).toContain(sent.digest('hex'));
  expect(pieces).toBeLessThan(COUNT / 50);
});

it.each([
  ['a chunked body', { 'transfer-encoding': 'chunked' }],
  ['a body of known length', { 'content-length': '901' }],
])('tiny pieces of %s that nobody takes are put together, however slowly they come, and are taken whole', async (_what, headers) => {
  const COUNT = 900;
  const DIGIT_0 = 0x30;
  const request = new http.IncomingMessage(new Socket());
  request.headers = headers;
  request._read = () => undefined;
  pacePieces(request);
  for (let index = 0; index < COUNT; index += 1) {
    request.push(Buffer.from(Uint8Array.of(DIGIT_0 + (index % 10)).buffer));
    await setImmediate();
  }
  const taken: Buffer[] = [];
  request.on('data', (piece: Buffer) => taken.push(piece));
  await setImmediate();
  await setImmediate();
  // What comes while somebody takes it goes on at once.
  request.push(Buffer.from(Uint8Array.of(0x2e).buffer));
  await setImmediate();
  await setImmediate();
  expect(Buffer.concat(taken).toString()).toBe(`${Array.from({ length: COUNT }, (_, index) => index % 10).join('')}.`);
  request.push(null);
  await once(request, 'end');
  expect(taken.length).toBeLessThan(10);
  const memoryBytes = taken.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  expect(memoryBytes).toBeLessThan(2 * COUNT);
});
