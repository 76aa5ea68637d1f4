import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { waitFor } from '@wharf/harness';
import { expect, it } from 'vitest';
import { createNatsBus } from '../src/index.ts';

const INFO = `INFO ${JSON.stringify({ server_id: 'x', version: '2.10.0', max_payload: 1_000_000, headers: true, auth_required: true })}\r\n`;
/** More than a client believes by itself. */
const REFUSALS = 4;

/** A server of the bus that refuses every login for a time, as one does whose logins are not loaded yet. */
async function startRefusing() {
  const open = new Set<Socket>();
  let left = 0;
  let isSilent = false;
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket)).on('error', () => {});
    socket.on('data', (bytes) => {
      if (left > 0) {
        left -= 1;
        socket.end("-ERR 'Authorization Violation'\r\n");
      } else if (bytes.includes('PING') && !isSilent) socket.write('PONG\r\n');
    });
    socket.write(INFO);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://token@127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse(times: number) {
      left = times;
      for (const socket of open) socket.destroy();
    },
    refusalsLeft: () => left,
    /** It says half a line, and from then on nothing, but takes what it is sent. */
    standStill() {
      isSilent = true;
      for (const socket of open) socket.write('MSG wharf.x 1 ');
    },
    goOn() {
      isSilent = false;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

it('a bus that refuses logins for a time is there again afterwards, at the start and later', async () => {
  const server = await startRefusing();
  server.refuse(REFUSALS);
  const bus = createNatsBus(server.url, 'test', () => {});
  try {
    await waitFor('the bus', () => bus.isConnected());
    server.refuse(REFUSALS);
    await waitFor('the refusals', () => server.refusalsLeft() === 0);
    await waitFor('the bus again', () => bus.isConnected());
    expect(server.refusalsLeft()).toBe(0);
  } finally {
    await bus.close();
    await server.stop();
  }
});

it('a bus that stands still counts as away, and is there again when it answers', async () => {
  const server = await startRefusing();
  const bus = createNatsBus(server.url, 'test', () => {}, 50);
  try {
    await waitFor('the bus', () => bus.isConnected());
    server.standStill();
    await waitFor('the silence to be noticed', () => !bus.isConnected());
    server.goOn();
    await waitFor('the bus again', () => bus.isConnected());
  } finally {
    await bus.close();
    await server.stop();
  }
});
