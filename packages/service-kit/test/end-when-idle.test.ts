import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endWhenIdle, listenHttp } from '../src/index.ts';

const LIMIT_MS = 200;
const HEAD = 'PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n';

let listener: Awaited<ReturnType<typeof listenHttp>>;

beforeAll(async () => {
  listener = await listenHttp(
    async (request, response) => {
      endWhenIdle(response, request.method === 'PUT', LIMIT_MS);
      try {
        for await (const _chunk of request);
      } catch {
        return;
      }
      // The storage is slower than the limit.
      if (request.method === 'PUT') setTimeout(() => response.end('stored'), 2 * LIMIT_MS);
      else response.write('a part');
    },
    '127.0.0.1',
    0,
  );
});
afterAll(() => listener?.stop(0));

async function talk(text: string): Promise<string> {
  const socket = connect(listener.port, '127.0.0.1', () => socket.write(text));
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
    if (answer.includes('stored')) socket.end();
  });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return answer;
}

describe('a transfer', () => {
  it('whose client sends nothing more is cut', async () => {
    expect(await talk(`${HEAD}ab`)).toBe('');
  });

  it('whose client takes nothing more is cut', async () => {
    expect(await talk('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toContain('a part');
  });

  it('that is all here may take the storage longer', async () => {
    expect(await talk(`${HEAD}abcd`)).toContain('stored');
  });
});

it('a connection whose answer was out before all of its request came keeps the limit of the server', async () => {
  const limits = Promise.withResolvers<(number | undefined)[]>();
  const server = await listenHttp(
    (request, response) => {
      endWhenIdle(response, true, LIMIT_MS);
      request.resume().once('end', () => setImmediate(() => limits.resolve([request.socket.timeout])));
      response.end('needs no body');
    },
    '127.0.0.1',
    0,
  );
  const socket = connect(server.port, '127.0.0.1', () => socket.write(`${HEAD}ab`));
  await once(socket, 'data');
  socket.write('cd');
  expect(await limits.promise).toEqual([expect.toSatisfy((ms) => ms > LIMIT_MS)]);
  socket.destroy();
  await server.stop(0);
});
