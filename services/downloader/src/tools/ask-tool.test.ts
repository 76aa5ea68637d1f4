import type { ServerResponse } from 'node:http';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { startHttpServer, waitFor } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { createAskTool } from './ask-tool.ts';

const HALF = 'x'.repeat(64 * 1024);

it('long answers of a tool are read one at a time, and short ones and those of others beside them', async () => {
  let unfinished: ServerResponse | undefined;
  const tool = await startHttpServer((request, response) => {
    if (request.url === '/short') return void response.end('short');
    response.write(HALF);
    if (request.url === '/first') unfinished = response;
    else response.end(HALF);
  });
  onTestFinished(() => tool.stop());
  const other = await startHttpServer((_request, response) => void response.end(HALF + HALF));
  onTestFinished(() => other.stop());
  const client = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }), { maxConnections: 8 });
  onTestFinished(() => client.close());
  let readBytes = 0;
  const ask = createAskTool({
    ...client,
    async request(request) {
      const answer = await client.request(request);
      const pieces = answer[Symbol.asyncIterator].bind(answer);
      answer[Symbol.asyncIterator] = async function* () {
        for await (const piece of { [Symbol.asyncIterator]: pieces }) {
          yield piece;
          readBytes += piece.byteLength;
        }
      };
      return answer;
    },
  });
  const ended: string[] = [];
  const asked = async (path: string) => {
    await ask(new URL(path, tool.url), { method: 'GET' });
    ended.push(path);
  };

  const first = asked('/first');
  await waitFor('the first one to be read', () => readBytes > HALF.length / 2);
  const others = ['/second', '/third'].map(asked);
  for (let each = 0; each < 20; each += 1) await asked('/short');
  for (let each = 0; each < 3; each += 1) await ask(new URL(other.url), { method: 'GET' });
  expect(new Set(ended)).toEqual(new Set(['/short']));
  unfinished?.end();
  await Promise.all([first, ...others]);
  expect(ended.at(-3)).toBe('/first');
});
