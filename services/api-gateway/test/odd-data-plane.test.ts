import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

const SIZE_BYTES = 100_000;

/** Answers of a data plane that is not what it should be, or of whatever has its address. */
const ANSWERS: readonly (readonly [what: string, answer: string])[] = [
  ['a status that is none', 'HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nhi'],
  ['a status that is none, without a length', 'HTTP/1.1 001 Odd\r\nConnection: close\r\n\r\nhi'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\nConnection: Upgrade\r\n\r\nhi'],
  ['bytes in a header that are no text', 'HTTP/1.1 200 OK\r\nX-Odd: \x01\r\nContent-Length: 2\r\n\r\nhi'],
  ['less than announced', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi'],
  ['chunks that are none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n'],
  ['no HTTP', 'hello\r\n\r\n'],
  ['nothing', ''],
];

const REQUESTS = [
  'GET /d/x HTTP/1.1\r\n',
  'HEAD /d/x HTTP/1.1\r\n',
  `PUT /api/fs/put HTTP/1.1\r\nFile-Path: /x\r\nContent-Length: ${SIZE_BYTES}\r\n`,
  'PUT /api/fs/put HTTP/1.1\r\nFile-Path: /x\r\nTransfer-Encoding: chunked\r\n',
  `DELETE /api/fs/tus/${'0'.repeat(32)} HTTP/1.1\r\n`,
] as const;

let answer = '';
const open = new Set<Socket>();
const plane = createServer((socket) => {
  open.add(socket);
  socket.once('close', () => open.delete(socket)).on('error', () => {});
  socket.once('data', () => socket.end(answer, 'latin1'));
});
let gateway: Gateway;

beforeAll(async () => {
  plane.listen(0, '127.0.0.1');
  await once(plane, 'listening');
  gateway = await openGateway({ fsDataUrl: `http://127.0.0.1:${(plane.address() as AddressInfo).port}` });
}, 60_000);
afterAll(async () => {
  await gateway?.close();
  for (const socket of open) socket.destroy();
  plane.close();
});

/** What comes of one request, as its first line; empty where the connection is closed. */
const ask = async (head: string) => (await askAll(head)).text.split('\r\n')[0] ?? '';

async function askAll(head: string): Promise<{ text: string; error: string | undefined }> {
  const { hostname, port } = new URL(gateway.base);
  const socket = connect(Number(port), hostname);
  let text = '';
  let error: string | undefined;
  socket
    .on('error', ({ code }: NodeJS.ErrnoException) => {
      error = code;
    })
    .on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
  socket.write(`${head}Host: gateway\r\nAuthorization: ${PERMANENT_TOKEN}\r\nConnection: close\r\n\r\n`);
  if (head.includes('chunked')) socket.write('5\r\nhello\r\n0\r\n\r\n');
  else if (head.includes('Content-Length')) socket.write(Buffer.alloc(SIZE_BYTES));
  await new Promise((resolve) => socket.once('close', resolve));
  return { text, error };
}

describe('a data plane whose answer is wrong', () => {
  it.each(ANSWERS)('%s: each request ends, and the gateway goes on', async (_what, wrong) => {
    answer = wrong;
    for (const request of REQUESTS)
      expect([request, await ask(request)]).toEqual([request, expect.stringMatching(/^(HTTP\/1\.1 [2-5]\d\d .*)?$/)]);
    expect((await gateway.request({ path: '/ping' })).text()).toBe('pong');
  });
});

it('what breaks off at the data plane is not ended as if it were whole', async () => {
  answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n';
  const { text } = await askAll('GET /d/x HTTP/1.1\r\n');
  expect([text.includes('hello'), text.endsWith('0\r\n\r\n')]).toEqual([true, false]);
  // One that knows no chunks has nothing else that tells.
  expect((await askAll('GET /d/x HTTP/1.0\r\n')).error).toBe('ECONNRESET');
});
