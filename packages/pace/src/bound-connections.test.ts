import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { boundConnections } from './bound-connections.ts';

const server = createServer((_request, response) => void response.end('served'));
const sockets: Socket[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  server.close();
});

const open = async (): Promise<Socket> => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
};
const said = async (socket: Socket, text: string): Promise<string> => {
  socket.write(text);
  return String(await once(socket, 'data'));
};

it('of a full server the connection ends on which nobody has asked for anything for the longest time, and no tunnel', async () => {
  server.on('connect', (_request, tunnel: Socket) => {
    tunnel.on('error', () => undefined).pipe(tunnel);
    tunnel.write('tunnel');
  });
  boundConnections(server, 3);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const tunnel = await open();
  expect(await said(tunnel, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n')).toBe('tunnel');
  const silent = await open();
  const ended = once(silent.resume(), 'close');
  const asking = await open();
  await ended;
  for (let count = 0; count < 2; count += 1) expect(await said(asking, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toContain('served');
  expect(await said(tunnel, 'still here')).toBe('still here');
});

it('of connections that come to a full server in one moment each ends another one', () => {
  const full = createServer();
  boundConnections(full, 4);
  const coming = Array.from({ length: 6 }, () => new Socket());
  for (const socket of coming) full.emit('connection', socket);
  expect(coming.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false, false]);
  for (const socket of coming) socket.destroy();
});

it('clients with many connections lose theirs first, however many they open', () => {
  const full = createServer();
  const few = new Socket();
  boundConnections(full, 128, { clientOf: (socket) => (socket === few ? 'few' : 'many') });
  const flood = Array.from({ length: 300 }, () => new Socket());
  for (const socket of [few, ...flood]) full.emit('connection', socket);
  expect(few.destroyed).toBe(false);
  expect(flood.filter(({ destroyed }) => !destroyed)).toHaveLength(126);
  for (const socket of [few, ...flood]) socket.destroy();
});

it('what has been idle ends before what has just come, of clients with many too; and a proxy is no client', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const full = createServer();
  const clients = new Map<Socket, string>();
  boundConnections(full, 128, { clientOf: (socket) => clients.get(socket) });
  const come = (count: number, clientOf: (index: number) => string | undefined) =>
    Array.from({ length: count }, (_, index) => {
      const [socket, client] = [new Socket(), clientOf(index)];
      if (client !== undefined) clients.set(socket, client);
      full.emit('connection', socket);
      return socket;
    });
  const left = (sockets: readonly Socket[]) => sockets.filter(({ destroyed }) => !destroyed).length;
  const strangers = come(120, (index) => `stranger ${index >> 1}`);
  vi.advanceTimersByTime(2_000);
  const ofProxy = come(20, () => undefined);
  const ofOffice = come(20, () => 'office');
  expect([strangers, ofProxy, ofOffice].map(left)).toEqual([87, 20, 20]);
  // Of those that are left none has been idle for long: of the office, all of whose connections count, the oldest end.
  come(100, () => undefined);
  expect([strangers, ofProxy, ofOffice].map(left)).toEqual([0, 20, 7]);
  come(10, () => undefined);
  expect([ofProxy, ofOffice].map(left)).toEqual([15, 2]);
  for (const socket of clients.keys()) socket.destroy();
});
