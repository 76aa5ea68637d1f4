import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { ensureCommand } from './debian-package.ts';
import { startNatsServer } from './nats-server.ts';
import { isAvailable, isMissing } from './required.ts';

const program = await ensureCommand('nats-server', 'nats-server');

/** The first line the server sends. */
async function greeting(url: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const [chunk] = await once(socket, 'data');
  socket.destroy();
  return String(chunk);
}

it.runIf(isAvailable('nats-server', program))('a nats-server answers on its url, also after a restart, and not after its end', async () => {
  const server = await startNatsServer();
  if (isMissing(server)) throw new Error(server.missing);
  expect(await greeting(server.url)).toMatch(/^INFO \{.*"auth_required":true/);
  await server.restart();
  expect(await greeting(server.url)).toMatch(/^INFO /);
  await server.stop();
  await server.stop();
  await expect(greeting(server.url)).rejects.toThrow('ECONNREFUSED');
});
