import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { MAX_UNPROVEN } from '../src/guarded-proxy.ts';
import { createEgressPolicy, type GuardedProxy, startGuardedProxy } from '../src/index.ts';

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options: { allow?: string[]; resolve?: (host: string) => Promise<string[]> } = {}) {
  const server = http.createServer((request, response) => response.end(`hello ${request.headers.host}`)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const { allow = [], resolve } = options;
  const policy = createEgressPolicy({ allow, forbidden: [], audience: 'user', ...(resolve ? { resolve } : {}) });
  const proxy = await startGuardedProxy(policy, '127.0.0.1', 0);
  closing.push(() => proxy.close());
  return { proxy, port: (server.address() as AddressInfo).port };
}

/** What a client of the proxy is answered to CONNECT, and what comes through the tunnel. */
async function tunnel(proxy: GuardedProxy, target: string, credentials = `${proxy.username}:${proxy.password}`): Promise<string> {
  const socket = net.connect(proxy.port, '127.0.0.1');
  socket.write(
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  if (!String(head).startsWith('HTTP/1.1 200')) {
    socket.destroy();
    return String(head).split('\r\n')[0] ?? '';
  }
  socket.write('GET / HTTP/1.1\r\nHost: inside\r\nConnection: close\r\n\r\n');
  return (await text(socket)).split('\r\n\r\n')[1] ?? '';
}

it('lets those who have its password through to what is allowed', async () => {
  const { proxy, port } = await open({ allow: ['127.0.0.1'] });
  expect(await tunnel(proxy, `127.0.0.1:${port}`)).toContain('hello inside');
});

it.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0.0.0.0', '169.254.169.254'])(
  'leads nobody to %s',
  async (host) => {
    const { proxy, port } = await open();
    expect(await tunnel(proxy, `${host}:${port}`)).toBe('HTTP/1.1 403 Forbidden');
  },
);

it('reads no further what somebody sends it without waiting for answers', async () => {
  const { proxy } = await open();
  let read = 0;
  const count = () => {
    read += 1;
  };
  subscribe('http.server.request.start', count);
  try {
    const socket = net.connect(proxy.port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write('GET / HTTP/1.1\r\n\r\n'.repeat(1_000));
    await once(socket, 'close');
    expect(read).toBeLessThan(20);
  } finally {
    unsubscribe('http.server.request.start', count);
  }
});

it('of many connections that do not say the password the oldest end, refused ones too, and no tunnel', async () => {
  const socket = await tunnelTo((server) => server.on('error', () => undefined).pipe(server));
  const port = socket.remotePort ?? 0;
  let accepted = 0;
  const open = new Set<net.Socket>();
  const take = (message: unknown) => {
    const { socket: taken } = message as { socket: net.Socket };
    if (taken.localPort !== port) return;
    accepted += 1;
    open.add(taken);
    taken.once('close', () => open.delete(taken));
  };
  subscribe('net.server.socket', take);
  try {
    for (let number = 0; number < MAX_UNPROVEN + 50; number += 1) {
      // It ends nothing by itself.
      const silent = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
      closing.push(() => silent.destroy());
      await once(silent, 'connect');
      while (accepted <= number) await setImmediate();
      if (number % 2 === 1) continue;
      silent.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n');
      await once(silent, 'data');
    }
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(open.size).toBe(MAX_UNPROVEN);
  } finally {
    unsubscribe('net.server.socket', take);
  }
  socket.write('still here');
  expect(String((await once(socket, 'data'))[0])).toBe('still here');
});

it('connects to the address that was checked', async () => {
  const answers = [['127.0.0.1'], ['1.1.1.1']];
  let asked = 0;
  const { proxy, port } = await open({ resolve: async () => answers[asked++] ?? [] });
  expect(await tunnel(proxy, `rebind.example:${port}`)).toBe('HTTP/1.1 403 Forbidden');
});

/** A tunnel to a server that does with its connection what it is told; what comes through it, and how it ends. */
async function tunnelTo(serve: (socket: net.Socket) => void): Promise<net.Socket> {
  const server = net.createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { proxy } = await open({ allow: ['127.0.0.1'] });
  const socket = net.connect(proxy.port, '127.0.0.1');
  closing.push(() => socket.destroy());
  const login = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64');
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${login}\r\n\r\n`);
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200 [^\r]*\r\n\r\n$/);
  return socket;
}

it('adds nothing to what a server sent that breaks off, and breaks off too', async () => {
  const socket = await tunnelTo((server) =>
    server.once('data', () => server.write('half of it', () => server.once('data', () => server.resetAndDestroy()))),
  );
  socket.write('send');
  let came = '';
  const ended = new Promise((resolve) => socket.on('error', resolve).on('end', () => resolve('end')));
  socket.on('data', (bytes) => {
    came += bytes;
    if (came === 'half of it') socket.write('break');
  });
  expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  expect(came).toBe('half of it');
});

it('hands on all that a server sent before it ended, to whoever takes it slowly', async () => {
  const sentBytes = 12_000_000;
  const socket = await tunnelTo((server) => {
    server.on('error', () => undefined);
    server.once('data', () => server.end(Buffer.alloc(sentBytes)));
  });
  socket.write('send');
  let cameBytes = 0;
  for await (const bytes of socket) {
    cameBytes += (bytes as Buffer).byteLength;
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  }
  expect(cameBytes).toBe(sentBytes);
});

it('refuses who has no password, and what is no tunnel', async () => {
  const { proxy, port } = await open({ allow: ['127.0.0.1'] });
  for (const credentials of ['', 'wharf:', 'wharf:wrong', ':'])
    expect(await tunnel(proxy, `127.0.0.1:${port}`, credentials)).toBe('HTTP/1.1 407 Proxy Authentication Required');
  expect(await tunnel(proxy, '127.0.0.1')).toBe('HTTP/1.1 400 Bad Request');
  expect((await fetch(`http://127.0.0.1:${proxy.port}/`)).status).toBe(405);
});
