import type { ServerResponse } from 'node:http';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { startHttpServer, waitFor } from '@wharf/harness';
import { forOwner } from '@wharf/pace';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ASKED_AT_A_TIME, createAskTool } from './ask-tool.ts';

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

/** A client of tools whose answers are these, by their hosts. */
function clientOf(bodies: Readonly<Record<string, () => AsyncIterable<Uint8Array>>>) {
  const ask = createAskTool({
    async request({ url }) {
      const pieces = bodies[url.hostname]?.() ?? [];
      const answer = { statusCode: 200, headers: {}, complete: true, destroy: () => {}, once: () => {} };
      return {
        ...answer,
        async *[Symbol.asyncIterator]() {
          yield* pieces;
        },
      };
    },
    close() {},
  });
  return (host: string) => ask(new URL(`http://${host}/`), { method: 'GET' });
}

it('two tools that stand still in the middle of long answers keep a third one from nothing', async () => {
  const end = Promise.withResolvers<void>();
  const standing = async function* () {
    yield Buffer.from(HALF);
    await end.promise;
  };
  const long = async function* () {
    yield Buffer.from(HALF);
  };
  const ask = clientOf({ one: standing, two: standing, three: long });
  const stuck = ['one', 'two'].map(ask);
  // Both have begun: what they have said is longer than a short answer.
  await new Promise(setImmediate);
  expect((await ask('three')).body).toBe(HALF);
  end.resolve();
  await Promise.all(stuck);
});

it('an answer that comes byte by byte is put together as it comes: each piece that was kept would take hundreds of bytes', async () => {
  const bytes = async function* () {
    const lent = Buffer.alloc(1);
    for (const byte of Buffer.from('"answer"')) {
      lent[0] = byte;
      yield lent;
    }
  };
  expect((await clientOf({ one: bytes })('one')).body).toBe('"answer"');
});

/** A tool that is asked as often as it may be, and answers when it is told. */
function slowTool() {
  const over = Promise.withResolvers<void>();
  let asked = 0;
  const ask = createAskTool({
    async request({ signal }) {
      asked += 1;
      const gone = Promise.withResolvers<never>();
      signal?.addEventListener('abort', () => gone.reject(signal.reason));
      await Promise.race([over.promise, gone.promise]);
      return { statusCode: 200, headers: {}, complete: true, destroy: () => {}, once: () => {}, async *[Symbol.asyncIterator]() {} };
    },
    close() {},
  });
  return {
    ask: (timeoutMs?: number) => ask(new URL('http://tool/'), { method: 'GET', ...(timeoutMs !== undefined && { timeoutMs }) }),
    asked: () => asked,
    answer: over.resolve,
  };
}

it('who waits for others to be answered by a slow tool has all of its time left', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { ask, asked, answer } = slowTool();
  const before = Array.from({ length: ASKED_AT_A_TIME - 1 }, () => ask(1_000_000));
  const waiting = forOwner('another', () => [ask(1_000_000), ask()]);
  await new Promise(setImmediate);
  expect(asked()).toBe(ASKED_AT_A_TIME);
  vi.advanceTimersByTime(100_000);
  answer();
  for (const { status } of await Promise.all([...before, ...waiting])) expect(status).toBe(200);
});

it('who asks a tool a hundred things leaves a place there to others', async () => {
  const { ask, asked, answer } = slowTool();
  const all = Array.from({ length: 100 }, () => ask());
  await new Promise(setImmediate);
  const before = asked();
  all.push(forOwner('another', () => ask()));
  await new Promise(setImmediate);
  expect([before, asked()]).toEqual([ASKED_AT_A_TIME - 1, ASKED_AT_A_TIME]);
  answer();
  await Promise.all(all);
});
