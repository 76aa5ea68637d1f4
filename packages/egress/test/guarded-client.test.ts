import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { afterEach, describe, expect, it } from 'vitest';
import { createEgress, createEgressPolicy, createGuardedClient, type GuardedClient } from '../src/index.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(handler: http.RequestListener): Promise<number> {
  const server = http.createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function clientOf(options: Partial<Parameters<typeof createEgressPolicy>[0]> = {}) {
  const policy = createEgressPolicy({ allow: [], forbidden: [], audience: 'user', ...options });
  const client: GuardedClient = createGuardedClient(policy, { maxConnections: 4 });
  closing.push(() => client.close());
  return { policy, client };
}

describe('the guarded client (C6)', () => {
  it('reaches what is allowed and nothing else', async () => {
    const port = await serve((_request, response) => response.end('hello'));
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    expect(await text(await client.request({ url: new URL(`http://127.0.0.1:${port}/`) }))).toBe('hello');
    const { client: strict } = clientOf();
    // The URL parser was passed by: the connection itself is refused.
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost'])
      await expect(strict.request({ url: new URL(`http://${host}:${port}/`) })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('an answer that switches to another protocol is an error, for every method', async () => {
    const server = net.createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.write('HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closing.push(() => server.close());
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    const pieces = async function* () {
      yield Buffer.from('hello');
    };
    for (const asked of [{ method: 'GET' }, { method: 'HEAD' }, { method: 'PUT', body: pieces() }])
      await expect(client.request({ url, ...asked })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('a request that waits for a connection ends with its signal and in its time', async () => {
    const held: http.ServerResponse[] = [];
    const port = await serve((_request, response) => void held.push(response));
    const url = new URL(`http://127.0.0.1:${port}/`);
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    const first = Array.from({ length: 4 }, () => client.request({ url }));
    await expect.poll(() => held.length).toBe(4);
    const leaving = new AbortController();
    const waiting = client.request({ url, signal: leaving.signal });
    const late = client.request({ url, headersTimeoutMs: 20 });
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(late).rejects.toMatchObject({ code: 'OVERLOADED' });
    const last = client.request({ url });
    for (const response of held) response.end('hello');
    for (const answer of await Promise.all(first)) expect(await text(answer)).toBe('hello');
    await expect.poll(() => held.length).toBe(5);
    held[4]?.end('last');
    expect(await text(await last)).toBe('last');
  });

  it('big answers that stand still, and do not tell their length, leave others their connections', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/big') response.write('a piece');
      else response.end('hello');
    });
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    const big = () => client.request({ url: new URL(`http://127.0.0.1:${port}/big`), isBulk: true });
    const answers = await Promise.all(Array.from({ length: 6 }, big));
    expect(await text(await client.request({ url: new URL(`http://127.0.0.1:${port}/`) }))).toBe('hello');
    for (const answer of answers) answer.destroy();
  });

  it('an answer in chunks of one byte comes whole, a thousand of them in a turn', async () => {
    const tiny = '1\r\n.\r\n'.repeat(20_000);
    const server = net.createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
          if (isTold) socket.end(`${tiny}0\r\n\r\n`);
        }),
    );
    let isTold = true;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closing.push(() => server.close());
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    expect(await text(await client.request({ url }))).toHaveLength(20_000);
    isTold = false;
    const answer = (await client.request({ url })) as http.IncomingMessage;
    let pieces = 1;
    while (pieces < 60_000 && answer.push('.')) pieces += 1;
    expect(pieces).toBe(1_000);
    answer.destroy();
  });

  it('ends an answer whose body does not come when its caller has gone', async () => {
    const port = await serve((_request, response) => void response.writeHead(200, { 'Content-Length': '100' }).write('x'));
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    const caller = new AbortController();
    const answer = await client.request({ url: new URL(`http://127.0.0.1:${port}/`), signal: caller.signal });
    const reading = (async () => {
      for await (const _ of answer) caller.abort(new AppError('CANCELLED', 'the task was cancelled'));
    })();
    await expect(reading).rejects.toMatchObject({ message: 'the task was cancelled' });
  });

  it('a name that answers a public address first and a private one then never leads inside', async () => {
    let requests = 0;
    const port = await serve((_request, response) => {
      requests += 1;
      response.end();
    });
    const answers = [['198.41.0.4'], ['127.0.0.1']];
    let asked = 0;
    const { policy, client } = clientOf({ resolve: async () => answers[Math.min(asked++, 1)] ?? [] });
    expect(await policy.resolve('rebind.example', port)).toEqual(['198.41.0.4']);
    const url = policy.parseUrl(`http://rebind.example:${port}/`);
    await expect(client.request({ url })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(requests).toBe(0);
  });

  it('what connects is the address that was checked: the name is asked once for a connection', async () => {
    const port = await serve((_request, response) => response.end('pinned'));
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    const { client } = clientOf({ allow: ['pinned.example'], resolve });
    expect(await text(await client.request({ url: new URL(`http://pinned.example:${port}/`) }))).toBe('pinned');
    expect(asked).toBe(1);
  });

  it('a server that takes the connection and says nothing is left', async () => {
    const sockets: net.Socket[] = [];
    const silent = net.createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    const url = new URL(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
    await expect(client.request({ url, headersTimeoutMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const gone = new AbortController();
    const waiting = client.request({ url, signal: gone.signal });
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('a refused connection is said in words', async () => {
    const port = await serve(() => {});
    for (const close of closing.splice(0)) close();
    const { client } = clientOf({ allow: ['127.0.0.1'] });
    await expect(client.request({ url: new URL(`http://127.0.0.1:${port}/`) })).rejects.toThrowError(/refuses connections/);
  });
});

it('a connection for somebody who has gone does not wait for a name whose server is silent', async () => {
  const resolve = () => Promise.withResolvers<never>().promise;
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'user', resolve }));
  const gone = { host: 'silent.example', port: 80, signal: AbortSignal.abort() };
  await expect(egress.connect(gone)).rejects.toMatchObject({ code: 'CANCELLED' });
});
