import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { joinPlainly, openRelay } from './relay.ts';

it('a connection that carries nothing for long is closed at both ends, one that carries something is not', async () => {
  const server = net.createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const relay = await openRelay(async () => net.connect(port, '127.0.0.1'), joinPlainly(300));
  onTestFinished(() => {
    relay.close();
    server.close();
  });
  const open = async () => {
    const far = once(server, 'connection') as Promise<[net.Socket]>;
    const near = net.connect(relay.port, '127.0.0.1').on('error', () => undefined);
    return { near, far: (await far)[0] };
  };
  const [idle, busy] = [await open(), await open()];
  const saying = setInterval(() => busy.near.write('x'), 20);
  onTestFinished(() => clearInterval(saying));
  await Promise.all([once(idle.near, 'close'), once(idle.far, 'close')]);
  expect([busy.near.destroyed, busy.far.destroyed]).toEqual([false, false]);
});
