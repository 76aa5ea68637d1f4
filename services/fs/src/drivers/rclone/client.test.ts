import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { RcloneClient } from './client.ts';

function clientOf(url: string, ownCallMs?: number): RcloneClient {
  const process = { url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'memory', parameters: {} }), failure: undefined, close: () => undefined };
  const client = new RcloneClient(way, { hold: () => () => undefined, get: async () => process }, ownCallMs);
  onTestFinished(() => client.close());
  return client;
}

async function* oneByte(): AsyncGenerator<Uint8Array, void> {
  yield Uint8Array.of(1);
}

it('an rclone elsewhere that hangs while a remote is made is asked anew later', async () => {
  let made = 0;
  const server = await startHttpServer((request, response) => {
    if (request.url === '/config/create') made += 1;
    if (made > 1) response.end('{"item":null}');
  });
  onTestFinished(() => server.stop());
  const client = clientOf(server.url, 1_000);
  await expect(client.find('a', {})).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(client.find('a', {})).resolves.toBeUndefined();
  expect(made).toBe(2);
});

it('each call gives its connection back, whatever it asks for', async () => {
  const connections = new Set<unknown>();
  const server = await startHttpServer((request, response) => {
    connections.add(request.socket);
    request.resume().once('end', () => response.end('{"item":null,"list":[]}\n'));
  });
  onTestFinished(() => server.stop());
  const client = clientOf(server.url);
  const counts: number[] = [];
  for (const times of [1, 2, 4]) {
    for (let time = 0; time < times; time += 1) {
      await client.move('a', 'b', false, {});
      await client.move('a', 'b', true, {});
      await client.copy('a', 'b', {});
      await client.makeFolder('a', {});
      await client.removeFolder('a', {});
      await client.removeFile('a', {});
      await client.purge('a', {});
      await client.find('a', {});
      await Array.fromAsync(client.list('a', {}));
      await client.write('a', oneByte(), {});
    }
    counts.push(connections.size);
  }
  expect(counts).toEqual([1, 1, 1]);
});
