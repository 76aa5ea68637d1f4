import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
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
