import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { GatewayClient } from './client.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

it('a task of the gateway that never ends is not asked for for ever, though nobody waits for its move any more', async () => {
  const server = await startHttpServer((request, response) => {
    const task = { id: 'task', state: 1 };
    response.end(JSON.stringify({ code: 200, message: 'success', data: request.url === '/api/fs/move' ? { tasks: [task] } : task }));
  });
  onTestFinished(() => server.stop());
  const settings = {
    ...{ base: new URL(server.url), root: '/', folderPassword: '', login: undefined },
    ...{ passesAddress: false, passesAgent: false, refreshes: false },
  };
  const { egress, trail } = testSurroundings();
  const client = new GatewayClient(settings, egress, trail, 0);
  onTestFinished(() => client.close());
  await expect(client.place('move', '/a', '/b', 'name', false, {})).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(server.requests()).toBe(2);
});
