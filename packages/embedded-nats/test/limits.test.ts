import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { startEmbeddedNats } from '@wharf/embedded-nats';
import { makeTempDir, startProcess, waitFor } from '@wharf/harness';
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_STRANGERS } from '../src/embedded-nats.ts';
import { connectRaw } from './raw-client.ts';

const started: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const bus of started.splice(0)) await bus.stop();
});

async function start(options: Parameters<typeof startEmbeddedNats>[0] = {}) {
  const bus = await startEmbeddedNats(options);
  started.push(bus);
  return bus;
}

describe('limits of the embedded bus', () => {
  it('every bus has a token of its own, which is not in its url', async () => {
    const [one, two] = [await start(), await start()];
    expect(one.token).toMatch(/^[\w-]{43}$/);
    expect(one.token).not.toBe(two.token);
    expect(one.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
    await expect(startEmbeddedNats({ token: '' })).rejects.toThrow('token');
  });

  it('a port that is taken is an error', async () => {
    const { url } = await start();
    await expect(startEmbeddedNats({ port: Number(new URL(url).port) })).rejects.toThrow('EADDRINUSE');
  });

  it('of many that do not log in the oldest end, and those who do are served meanwhile', async () => {
    const { url, token } = await start();
    const client = await connectRaw(url, { auth_token: token });
    const oldest = await connectRaw(url);
    for (let count = 0; count < MAX_STRANGERS; count += 1) await connectRaw(url);
    expect(await oldest.closed()).not.toContain('Authentication Timeout');
    client.send('PING\r\n');
    await waitFor('an answer', () => client.received().split('PONG').length === 3);
  });

  it('a client that answers no PING is dropped, one that does stays', async () => {
    const { url, token } = await start({ keepAliveMs: 50 });
    const silent = await connectRaw(url, { auth_token: token });
    const client = await connect({ servers: url, token, reconnect: false });
    const said = await silent.closed();
    expect(said).toContain("-ERR 'Stale Connection'\r\n");
    expect(said.match(/PING/g)).toHaveLength(2);
    await client.flush();
    expect(client.isClosed()).toBe(false);
    await client.close();
  });

  it('a client that does not take what it asked for is dropped, and nobody else suffers', async () => {
    const { url, token } = await start({ maxPendingBytes: 1024 * 1024 });
    const slow = await connectRaw(url, { auth_token: token });
    slow.send('SUB flood 1\r\nPING\r\n');
    await waitFor('the subscription', () => slow.received().split('PONG').length === 3);
    slow.pause();
    const publisher = await connect({ servers: url, token, reconnect: false });
    const subscriber = await connect({ servers: url, token, reconnect: false });
    let receivedBytes = 0;
    subscriber.subscribe('flood', {
      callback: (_, message) => {
        receivedBytes += message.data.length;
      },
    });
    await subscriber.flush();
    // Far more than the buffers of the kernel, which come on top of ours.
    const payload = Buffer.alloc(64 * 1024);
    for (let batch = 0; batch < 80; batch++) {
      for (let i = 0; i < 10; i++) publisher.publish('flood', payload);
      await publisher.flush();
      await subscriber.flush();
    }
    expect(receivedBytes).toBe(800 * payload.length);
    slow.resume();
    expect((await slow.closed()).length).toBeLessThan(receivedBytes);
    await Promise.all([publisher.close(), subscriber.close()]);
  });

  it('stopping twice is stopping once, and ends the connections', async () => {
    const bus = await start();
    const client = await connectRaw(bus.url, { auth_token: bus.token });
    await Promise.all([bus.stop(), bus.stop()]);
    await client.closed();
    await expect(connect({ servers: bus.url, token: bus.token, reconnect: false })).rejects.toThrow();
  });
});

describe('the bus as a process', () => {
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const run = (args: string[], env: NodeJS.ProcessEnv) =>
    startProcess({
      name: 'embedded-nats',
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', main, ...args],
      env: { PATH: process.env['PATH'], ...env },
      ready: { line: (line) => /^ready (nats:\/\/127\.0\.0\.1:\d+)$/.exec(line)?.[1] },
    });

  it('says where it listens, takes the token from the environment and ends on SIGTERM', async () => {
    const bus = await run(['--port', '0'], { WHARF_EMBEDDED_NATS_TOKEN: 'abc' });
    const client = await connect({ servers: bus.ready, token: 'abc', reconnect: false });
    await client.flush();
    expect(bus.output()).not.toContain('abc');
    expect(await bus.stop()).toEqual({ code: 0, signal: null });
    await client.closed();
  });

  it('takes the token from a file', async () => {
    const dir = await makeTempDir('token');
    await writeFile(join(dir.path, 'token'), 'from-file\n', { mode: 0o600 });
    const bus = await run(['--token-file', join(dir.path, 'token')], {});
    const client = await connect({ servers: bus.ready, token: 'from-file', reconnect: false });
    await client.close();
    await bus.stop();
    await dir.remove();
  });

  it('does not start without a token', async () => {
    await expect(run([], {})).rejects.toThrow('a token is needed');
  });
});
