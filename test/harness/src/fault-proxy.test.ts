import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { waitFor } from './wait-for.ts';

const MIB = 1024 * 1024;

/** Sends back what it gets. */
const server = createServer({ allowHalfOpen: true }, (socket) => {
  served.add(socket);
  socket.on('error', () => undefined).on('close', () => served.delete(socket));
  socket.pipe(socket);
});
const served = new Set<Socket>();
let proxy: FaultProxy;
const clients: Socket[] = [];

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: portOf() } });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.stop();
  await proxy.stop();
  server.close();
  for (const socket of served) socket.destroy();
});

function portOf(): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

async function dial(port = proxy.port): Promise<Socket> {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(client);
  await once(client, 'connect');
  return client;
}

/** Sends it and reads as much back. */
async function echo(client: Socket, text: string): Promise<string> {
  client.setEncoding('utf8').write(text);
  let answer = '';
  while (answer.length < text.length) answer += (await once(client, 'data'))[0];
  return answer;
}

it('counts questions: what is sent before an answer came is one', async () => {
  const [one, other] = [await dial(), await dial()];
  for (const text of ['first', 'second', 'third']) await echo(one, text);
  expect(proxy.questions()).toBe(3);
  await echo(other, 'first');
  expect(proxy.questions()).toBe(4);
  proxy.latencyMs = 20;
  one.setNoDelay().write('begun, ');
  expect(await echo(one, 'and ended')).toContain('begun');
  expect(proxy.questions()).toBe(5);
});

it('passes all without faults, also what comes after a half of the connection is closed, and counts it', async () => {
  const client = await dial();
  const sent = Buffer.alloc(3 * MIB, 'abc');
  client.end(sent);
  expect((await buffer(client)).equals(sent)).toBe(true);
  await proxy.closed();
  expect([proxy.accepted(), proxy.bytesToServer(), proxy.bytesToClient()]).toEqual([1, sent.length, sent.length]);
  await waitFor('the server to be told', () => served.size === 0);
});

it('has pieces take their time, and keeps their order', async () => {
  const client = await dial();
  proxy.latencyMs = 40;
  const begun = performance.now();
  const answers = buffer(client);
  const sent = Array.from({ length: 100 }, (_, index) => `piece ${index}\n`).join('');
  for (const line of sent.split(/(?<=\n)/)) client.write(line);
  client.end();
  // No sooner; what comes later says nothing.
  expect((await answers).toString()).toBe(sent);
  expect(performance.now() - begun).toBeGreaterThanOrEqual(80);
});

it('holds everything back while it stalls, a bounded part of it, and sees who gives up', async () => {
  const early = await dial();
  expect(await echo(early, 'before')).toBe('before');
  proxy.stall();
  const late = await dial();
  const answer = echo(late, 'held');
  expect(await echo(await dial(portOf()), 'passes beside it')).toBe('passes beside it');
  early.write(Buffer.alloc(32 * MIB));
  await waitFor('both to be accepted', () => proxy.accepted() === 2);
  expect([proxy.bytesToServer(), early.writableLength > 0]).toEqual([6, true]);
  expect(await proxy.connections()).toBe(2);
  early.destroy();
  await waitFor('the one to be gone', async () => (await proxy.connections()) === 1);
  await proxy.resume();
  expect(await answer).toBe('held');
});

it('refuses new connections and leaves the open ones, until it goes on at the same port', async () => {
  const client = await dial();
  await echo(client, 'here');
  proxy.refuse();
  await expect(dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(await echo(client, 'still here')).toBe('still here');
  await proxy.resume();
  expect(await echo(await dial(), 'again')).toBe('again');
});

it('cuts as many connections as it is told, after exactly so many bytes', async () => {
  const first = await dial();
  expect(await echo(first, 'not counted')).toBe('not counted');
  proxy.cutAfter(100_000, 2);
  for (const client of [first, await dial()]) {
    client.setEncoding('latin1').write(Buffer.alloc(MIB));
    expect((await buffer(client)).length).toBe(100_000);
    client.destroy();
  }
  await proxy.closed();
  await waitFor('the server to be told', () => served.size === 0);
  expect((await echo(await dial(), 'x'.repeat(200_000))).length).toBe(200_000);
});

it('breaks all that is open, and what cannot reach the server', async () => {
  const client = await dial();
  await echo(client, 'here');
  const broken = once(client, 'data');
  proxy.breakAll();
  await expect(broken).rejects.toMatchObject({ code: 'ECONNRESET' });
  await proxy.closed();
  server.close();
  await expect(dial().then((other) => once(other, 'data'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  await proxy.stop();
  await expect(dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('is on an address of its own where it has ports of the server, and is bad on all of them', async () => {
  const both = await startFaultProxy({ to: { host: '127.0.0.1', port: portOf() }, samePorts: [portOf()] });
  const dialBoth = async (port: number) => {
    const client = connect(port, both.host).on('error', () => undefined);
    clients.push(client);
    await once(client, 'connect');
    return client;
  };
  expect(both.host).not.toBe('127.0.0.1');
  for (const port of [both.port, portOf()]) expect(await echo(await dialBoth(port), 'hello')).toBe('hello');
  expect([both.accepted(), await both.connections(), await proxy.connections()]).toEqual([2, 2, 0]);
  both.refuse();
  for (const port of [both.port, portOf()]) await expect(dialBoth(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await both.resume();
  for (const port of [both.port, portOf()]) expect(await echo(await dialBoth(port), 'again')).toBe('again');
  await both.stop();
});
