import http from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { listenHttp } from './http-listener.ts';
import { identify } from './identified-response.ts';

const BODY = { 'Content-Length': '0' };

/** Every way to begin an answer. */
const WAYS: Readonly<Record<string, (response: http.ServerResponse) => void>> = {
  'no headers': (response) => response.writeHead(204),
  headers: (response) => response.writeHead(200, { ...BODY, 'X-Kind': 'plain' }),
  'a text and headers': (response) => response.writeHead(200, 'fine', { ...BODY, 'X-Kind': 'text' }),
  'a text alone': (response) => response.writeHead(204, 'fine'),
  'a list of headers': (response) => response.writeHead(200, ['Content-Length', '0', 'X-Kind', 'list']),
  'headers set before': (response) => response.setHeader('X-Kind', 'before').writeHead(200, BODY),
  'nothing but its end': () => undefined,
};

it.each(Object.entries(WAYS))('an answer begun with %s tells the id once, beside its own headers', async (_way, begin) => {
  const listener = await listenHttp(
    (_request, response) => {
      identify(response, 'the-id-of-it');
      begin(response);
      response.end();
    },
    '127.0.0.1',
    0,
  );
  try {
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => http.get(listener.url, resolve).once('error', reject));
    answer.resume();
    expect(answer.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id')).toHaveLength(1);
    expect(answer.headers['x-request-id']).toBe('the-id-of-it');
    expect(answer.headers['x-kind'] !== undefined).toBe(begin.toString().includes('X-Kind'));
  } finally {
    await listener.stop(1000);
  }
});

it('an answer of another server tells it too', async () => {
  const server = http.createServer((_request, response) => {
    identify(response, 'the-id-of-it');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as { port: number };
    expect((await fetch(`http://127.0.0.1:${port}`)).headers.get('x-request-id')).toBe('the-id-of-it');
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it.each([
  ['1.0', true],
  ['1.1', false],
])('an answer to HTTP/%s that is cut off does not look whole', async (version, isReset) => {
  const listener = await listenHttp((_request, response) => void response.write('a half', () => response.destroy()), '127.0.0.1', 0);
  try {
    const socket = connect(listener.port, '127.0.0.1');
    let [text, wasReset] = ['', false];
    socket.on('data', (bytes) => (text += bytes)).on('error', () => (wasReset = true));
    socket.write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    expect([wasReset, text.endsWith('0\r\n\r\n')]).toEqual([isReset, false]);
  } finally {
    await listener.stop(1000);
  }
});
