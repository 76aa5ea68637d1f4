import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type HttpListener, listenHttp } from './http-listener.ts';

/** A busy machine takes longer than a second for thousands of requests. */
const PATIENT = { timeout: 15_000 };

let listener: HttpListener | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await listener?.stop(0);
});

const listening = async (handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Socket> => {
  listener = await listenHttp(handler, '127.0.0.1', 0);
  const socket = connect({ port: listener.port, host: '127.0.0.1' });
  sockets.push(socket.on('error', () => undefined));
  await once(socket, 'connect');
  return socket;
};
const get = (path: number) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const put = (path: number) => `PUT /${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`;
const gets = (count: number) => Array.from({ length: count }, (_, index) => get(index)).join('');
const pathsIn = (text: string) => Array.from(text.matchAll(/served \/(\d+);/g), ([, path]) => Number(path));

it.each(['all in one piece', 'in pieces'])('requests that are sent ahead are begun one by one, in order, bodies too: %s', async (how) => {
  let underWay = 0;
  let most = 0;
  const socket = await listening((request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    request.resume().once('end', () =>
      setImmediate(() => {
        response.end(`served ${request.url};`);
        underWay -= 1;
      }),
    );
  });
  const requests = Array.from({ length: 101 }, (_, index) => (index % 3 === 0 ? put(index) : get(index)));
  let answered = '';
  socket.on('data', (chunk) => {
    answered += String(chunk);
  });
  if (how === 'in pieces') for (const request of requests) await new Promise((sent) => socket.write(request, sent));
  else socket.write(requests.join(''));
  await expect.poll(() => pathsIn(answered), PATIENT).toEqual(requests.map((_, index) => index));
  expect(most).toBe(1);
  // The connection is as good as before.
  socket.write(get(500));
  await expect.poll(() => pathsIn(answered).at(-1), PATIENT).toBe(500);
});

it('of a client that goes away, what waited behind its first request is never begun', async () => {
  const begun: string[] = [];
  const closed: string[] = [];
  const socket = await listening(({ url = '' }, response) => {
    begun.push(url);
    response.once('close', () => closed.push(url));
  });
  socket.write(gets(50));
  await expect.poll(() => begun, PATIENT).toEqual(['/0']);
  socket.destroy();
  await expect.poll(() => closed, PATIENT).toEqual(['/0']);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['/0']);
});

it('of many that are answered at once, others have their turn in between', async () => {
  let turn = 0;
  let served = 0;
  const turns = new Set<number>();
  const count = () => {
    turn += 1;
    if (served < 100) setImmediate(count);
  };
  const socket = await listening((_request, response) => {
    turns.add(turn);
    served += 1;
    response.end('served');
  });
  setImmediate(count);
  socket.resume().write(gets(100));
  await expect.poll(() => served, PATIENT).toBe(100);
  expect(turns.size).toBeGreaterThanOrEqual(50);
});

it('a connection on which more wait than anybody needs is closed', async () => {
  let begun = 0;
  const socket = await listening(() => {
    begun += 1;
  });
  socket.resume().write(gets(1_000));
  await once(socket, 'close');
  expect(begun).toBe(1);
});

it.each([
  ['are like any other', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['name no host', 'GET / HTTP/1.1\r\n\r\n'],
  ['expect what nobody does', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n'],
  ['have bodies', put(1)],
])('of those that are too many nothing is read any more, though it came in one piece, where they %s', async (_how, request) => {
  let read = 0;
  const count = () => {
    read += 1;
  };
  const socket = await listening(() => undefined);
  subscribe('http.server.request.start', count);
  try {
    socket.resume().write(get(0) + request.repeat(1_000));
    await once(socket, 'close');
    // The first one, those that may wait, and the one too many.
    expect(read).toBe(102);
  } finally {
    unsubscribe('http.server.request.start', count);
  }
});

it('what waits on all connections together is bounded, but for one on each, and there is room again when they have gone', async () => {
  let isAnswering = false;
  const first = await listening((_request, response) => void (isAnswering && response.end('served')));
  const more = async (): Promise<Socket> => {
    const socket = connect({ port: listener?.port ?? 0, host: '127.0.0.1' });
    sockets.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    return socket;
  };
  const answersTo = async (socket: Socket, requests: string, count: number) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.write(requests);
    await expect.poll(() => text.split('served').length - 1, PATIENT).toBe(count);
  };
  // Once it is read it takes ten times as much as on its way.
  const request = `GET / HTTP/1.1\r\nHost: a\r\n${'aa:bb\r\n'.repeat(99)}\r\n`;
  const many = await Promise.all(Array.from({ length: 40 }, more));
  let closed = 0;
  for (const socket of many) {
    socket.resume().once('close', () => {
      closed += 1;
    });
    socket.write(request.repeat(70));
  }
  await expect.poll(() => closed, PATIENT).toBeGreaterThan(5);
  isAnswering = true;
  await answersTo(first, get(1) + get(2), 2);
  for (const socket of many) socket.destroy();
  await expect.poll(() => closed, PATIENT).toBe(40);
  await answersTo(await more(), request.repeat(70), 70);
});

it('so is the first one that waits on each, where it is far larger than those of browsers', async () => {
  await listening(() => undefined);
  const large = `GET / HTTP/1.1\r\nHost: a\r\n${`aa:${'b'.repeat(150)}\r\n`.repeat(190)}\r\n`;
  let closed = 0;
  for (let index = 0; index < 450; index += 1) {
    const socket = connect({ port: listener?.port ?? 0, host: '127.0.0.1' });
    sockets.push(socket.on('error', () => undefined));
    socket.resume().once('close', () => {
      closed += 1;
    });
    socket.write(get(1) + large);
  }
  await expect.poll(() => closed, PATIENT).toBeGreaterThan(20);
});
