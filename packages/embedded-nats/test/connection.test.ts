import { once } from 'node:events';
import { createServer } from 'node:net';
import { waitFor } from '@wharf/harness';
import { afterAll, expect, it } from 'vitest';
import { Connection, type Subscriber } from '../src/connection.ts';
import { createRouter } from '../src/router.ts';
import { connectRaw } from './raw-client.ts';

const router = createRouter<Subscriber>();
const server = createServer((socket) => {
  new Connection({ socket, router, info: {}, token: 'token', maxPendingBytes: 1000 });
}).listen(0, '127.0.0.1');
afterAll(() => server.close());

it.each([
  ['left', ''],
  ['was cut off', 'HELLO\r\n'],
  ['does not read', `PUB a 2000\r\n${'x'.repeat(2000)}\r\n`],
])('nothing is kept of a client that %s', async (_, lastWords) => {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const client = await connectRaw(`nats://127.0.0.1:${port}`, { auth_token: 'token' });
  client.send('SUB a 1\r\nSUB *.b 2\r\nSUB a.b group 3\r\n');
  await waitFor('the subscriptions', () => router.find('a').plain.length === 1 && router.find('a.b').groups.length === 1);
  if (lastWords === '') client.end();
  else client.send(lastWords);
  await client.closed();
  await waitFor('their end', () => router.find('a').plain.length === 0);
  expect(router.find('a.b')).toEqual({ plain: [], groups: [] });
});
