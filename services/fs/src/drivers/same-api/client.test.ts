import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { isUnanswered } from '../../driver-contract/storage-error.ts';
import { GatewayClient } from './client.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

function clientOf(url: string, taskMs: number): GatewayClient {
  const settings = {
    ...{ base: new URL(url), root: '/', folderPassword: '', login: undefined },
    ...{ passesAddress: false, passesAgent: false, refreshes: false },
  };
  const { egress, trail } = testSurroundings();
  const client = new GatewayClient(settings, egress, trail, taskMs);
  onTestFinished(() => client.close());
  return client;
}

it('a task of the gateway that never ends is not asked for for ever, though nobody waits for its move any more', async () => {
  const server = await startHttpServer((request, response) => {
    const task = { id: 'task', state: 1 };
    response.end(JSON.stringify({ code: 200, message: 'success', data: request.url === '/api/fs/move' ? { tasks: [task] } : task }));
  });
  onTestFinished(() => server.stop());
  const client = clientOf(server.url, 0);
  await expect(client.place('move', '/a', '/b', 'name', false, {})).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(server.requests()).toBe(2);
});

it('many tasks of the gateway for one move have the time of one', async () => {
  const asked = new Map<string, number>();
  const server = await startHttpServer((request, response) => {
    const { url = '' } = request;
    const looks = (asked.get(url) ?? 0) + 1;
    asked.set(url, looks);
    const tasks = Array.from({ length: 50 }, (_, id) => ({ id: String(id), state: 1 }));
    // Each has ended when it is asked for once more, a tenth of a second later.
    const data = url === '/api/fs/move' ? { tasks } : { id: 'task', state: looks > 1 ? 2 : 1 };
    response.end(JSON.stringify({ code: 200, message: 'success', data }));
  });
  onTestFinished(() => server.stop());
  const client = clientOf(server.url, 250);
  await expect(client.place('move', '/a', '/b', 'name', false, {})).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});

it.each([
  ['says that a storage of it is away', 200, 500, 'STORAGE_UNAVAILABLE', 'STORAGE_UNAVAILABLE', false],
  ['says that a storage of it takes too long', 200, 500, 'DEADLINE_EXCEEDED', 'STORAGE_UNAVAILABLE', false],
  ['says what nobody knows, and is no Wharf', 200, 500, undefined, 'STORAGE_UNAVAILABLE', false],
  ['refuses our login', 200, 401, undefined, 'STORAGE_LOGIN_FAILED', true],
  ['does not answer, but the proxy before it', 502, 500, undefined, 'STORAGE_UNAVAILABLE', true],
])('a gateway that %s', async (_, status, code, name, expected, unanswered) => {
  const server = await startHttpServer((_request, response) => {
    response.statusCode = status;
    if (name !== undefined) response.setHeader('X-Error-Code', name);
    response.end(JSON.stringify({ code, message: 'failed', data: null }));
  });
  onTestFinished(() => server.stop());
  const error = await clientOf(server.url, 0)
    .get('/part', {})
    .catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: expected });
  expect(isUnanswered(error)).toBe(unanswered);
});
