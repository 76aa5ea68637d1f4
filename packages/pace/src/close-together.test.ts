import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { closeTogether } from './close-together.ts';

/** Both ends of one connection. The far one is not read before somebody does. */
async function openPair(): Promise<{ near: Socket; far: Socket }> {
  const server = net.createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  server.close();
  for (const socket of [near, far]) {
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  }
  return { near, far };
}

it('what was sent to an end arrives, though the other end has closed before anybody took it', async () => {
  const [one, other] = [await openPair(), await openPair()];
  closeTogether(one.near, other.near);
  const sentBytes = 64_000_000;
  other.near.write(Buffer.alloc(sentBytes));
  one.far.end();
  one.near.resume();
  await once(one.near, 'close');
  let cameBytes = 0;
  for await (const bytes of other.far) cameBytes += (bytes as Buffer).byteLength;
  expect(cameBytes).toBe(sentBytes);
});

it('an end that breaks off breaks the other one off', async () => {
  const [one, other] = [await openPair(), await openPair()];
  closeTogether(one.near, other.near);
  const broken = once(other.far, 'error');
  one.near.resume();
  other.far.resume();
  one.far.resetAndDestroy();
  expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
});
