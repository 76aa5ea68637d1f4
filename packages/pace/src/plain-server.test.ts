import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { createPlainServer } from './plain-server.ts';

let server: Server | undefined;
afterEach(() => void server?.close().closeAllConnections());

async function connected(answers: boolean): Promise<Socket> {
  server = createPlainServer((_request, response) => void (answers && response.end('served'))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(
    socket.on('error', () => undefined),
    'connect',
  );
  return socket;
}

it.each([
  ['are like any other', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['name no host', 'GET / HTTP/1.1\r\n\r\n'],
  ['expect what nobody does', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n'],
])('who sends many requests ahead is cut off, and they are not read, where they %s', async (_how, request) => {
  let read = 0;
  const count = () => {
    read += 1;
  };
  const socket = await connected(false);
  subscribe('http.server.request.start', count);
  try {
    socket.resume().write(request.repeat(1_000));
    await once(socket, 'close');
    expect(read).toBe(17);
  } finally {
    unsubscribe('http.server.request.start', count);
  }
});

it.each([
  ['GET / HTTP/1.1\r\nConnection: close\r\nHost: a\r\n\r\n', /^HTTP\/1\.1 200 .*served/s],
  ['GET / HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', /^HTTP\/1\.1 417 /],
])('%j is answered', async (request, answer) => {
  const socket = await connected(true);
  socket.end(request);
  expect(await text(socket)).toMatch(answer);
});

it('a client that waits for its answers is served as often as it likes', async () => {
  const socket = await connected(true);
  for (let count = 0; count < 100; count += 1) {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
  }
  socket.destroy();
});
