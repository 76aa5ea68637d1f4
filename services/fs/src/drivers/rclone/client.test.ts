import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { RcloneClient } from './client.ts';

it('an rclone elsewhere that hangs while a remote is made is asked anew later', async () => {
  let made = 0;
  const server = await startHttpServer((request, response) => {
    if (request.url === '/config/create') made += 1;
    if (made > 1) response.end('{"item":null}');
  });
  onTestFinished(() => server.stop());
  const process = { url: server.url, authorization: 'x', ended: new AbortController().signal, kill: () => undefined };
  const way = { remote: async () => ({ type: 'memory', parameters: {} }), failure: undefined, close: () => undefined };
  const client = new RcloneClient(way, { hold: () => () => undefined, get: async () => process }, 1_000);
  onTestFinished(() => client.close());
  await expect(client.find('a', {})).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(client.find('a', {})).resolves.toBeUndefined();
  expect(made).toBe(2);
});
