import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, it } from 'vitest';
import { startDocumentDb } from './document-db.ts';
import { isAvailable } from './required.ts';

const engine = await startDocumentDb();

it.runIf(isAvailable('mongodb', engine))('DocumentDB ends although somebody is connected, and nobody listens then', async () => {
  if (!('url' in engine)) return;
  const { hostname, port } = new URL(engine.url);
  const connect = () => createConnection({ host: hostname, port: Number(port) });
  const socket = connect();
  await once(socket, 'connect');
  // The engine's end may come as a reset as well as an end of the stream.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await engine.stop();
  await closed;
  await expect(once(connect(), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await engine.stop();
});
