import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { createPace, forOwner } from '@wharf/pace';
import { expect, it } from 'vitest';
import { PacedReading } from './paced-reading.ts';

it('is read on by turns with the long pieces of work of whoever had the connection made', async () => {
  const socket = new EventEmitter() as Socket;
  socket.pause = () => socket;
  const isRead = new Promise<void>((resolve) => {
    socket.resume = () => {
      resolve();
      return socket;
    };
  });
  const paces = forOwner('many', () => {
    new PacedReading(socket, () => undefined);
    return Array.from({ length: 30 }, () => createPace());
  });
  const until = performance.now() + 6;
  while (performance.now() < until);
  let gone = 0;
  const steps = paces.map(async (pace) => {
    await pace.step();
    gone += 1;
  });
  socket.emit('data', Buffer.alloc(10));
  await isRead;
  expect(gone).toBeLessThan(4);
  await Promise.all(steps);
});
