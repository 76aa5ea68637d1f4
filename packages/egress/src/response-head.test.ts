import { expect, it } from 'vitest';
import { parseResponseHead } from './response-head.ts';

const headOf = (...lines: string[]) => parseResponseHead(lines.join('\r\n'));

it('reads the status, the fields and how long the body is', () => {
  expect(headOf('HTTP/1.1 206 Partial Content', 'Content-Length: 12', 'ETag:"a:b"\t', 'X-Empty:')).toEqual({
    statusCode: 206,
    headers: { 'content-length': '12', etag: '"a:b"', 'x-empty': '' },
    bodyBytes: 12,
    isKept: true,
  });
});

it.each([
  ['HTTP/1.1 200 OK', 200, undefined],
  ['HTTP/1.1 200', 200, undefined],
  ['HTTP/1.1 200 OK\r\nContent-Length: 0', 200, 0],
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5', 200, 5],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5', 200, undefined],
  ['HTTP/1.1 204 No Content', 204, 0],
  ['HTTP/1.1 304 Not Modified\r\nContent-Length: 700', 304, 0],
  ['HTTP/1.1 103 Early Hints\r\nLink: </a>', 103, 0],
])('%j has a body of %s', (text, statusCode, bodyBytes) => {
  expect(parseResponseHead(text)).toMatchObject({ statusCode, bodyBytes });
  expect(parseResponseHead(text)?.bodyBytes).toBe(bodyBytes);
});

it.each([
  ['HTTP/1.0 200 OK', false],
  ['HTTP/1.1 200 OK', true],
  ['HTTP/1.1 200 OK\r\nConnection: Close', false],
  ['HTTP/1.1 200 OK\r\nConnection: keep-alive, close', false],
])('%j keeps its connection: %s', (text, isKept) => {
  expect(parseResponseHead(text)?.isKept).toBe(isKept);
});

it.each([
  '',
  'SSH-2.0-OpenSSH_9.9',
  'HTTP/2 200',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 2000 OK',
  'HTTP/1.1 200 OK\r\nContent-Length: -1',
  'HTTP/1.1 200 OK\r\nContent-Length: 5, 5',
  'HTTP/1.1 200 OK\r\nContent-Length: 0x10',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6',
  'HTTP/1.1 200 OK\r\nContent-Length : 5',
  'HTTP/1.1 200 OK\r\nA: b\r\n folded',
  'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5',
  'HTTP/1.1 200 OK\r\nno colon',
])('%j is no head', (text) => {
  expect(parseResponseHead(text)).toBeUndefined();
});

it('a head full of blanks is read as fast as any other', () => {
  const blanks = ' '.repeat(16_000);
  const text = `HTTP/1.1 200 OK\r\n${`A: b${blanks}c${blanks}\r\n`.repeat(64)}Content-Length: 1`;
  // In a time that grows with the square of their number this takes minutes.
  expect(parseResponseHead(text)?.bodyBytes).toBe(1);
});

it('a field that has the name of something every object has is a field like another', () => {
  expect({ ...headOf('HTTP/1.1 200 OK', '__proto__: x', 'constructor: y')?.headers }).toEqual({ ['__proto__']: 'x', constructor: 'y' });
});
