import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createEgressPolicy, createGuardedClient } from '../src/index.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Asks a server that says so many times that it goes on, before it answers. */
async function ask(count: number, isBulk: boolean) {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.once('data', () => {
      for (let index = 0; index < count; index += 1) socket.write(`HTTP/1.1 10${index % 2 === 0 ? '0 Continue' : '3 Early Hints'}\r\n\r\n`);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createGuardedClient(createEgressPolicy({ allow: ['127.0.0.1'], forbidden: [], audience: 'user' }), { maxConnections: 1 });
  closing.push(() => {
    client.close();
    server.close();
  });
  const answer = client.request({ url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), isBulk });
  return { answer, connections: () => connections };
}

it.each([true, false])('twenty interim answers are read (bulk: %s)', async (isBulk) => {
  const { answer } = await ask(20, isBulk);
  let text = '';
  for await (const piece of await answer) text += Buffer.from(piece).toString();
  expect(text).toBe('ok');
});

it.each([true, false])('a server that sends more of them is left, and not asked again (bulk: %s)', async (isBulk) => {
  const { answer, connections } = await ask(1_000, isBulk);
  await expect(answer).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringContaining('sends more than 20 interim answers'),
  });
  expect(connections()).toBe(1);
});
