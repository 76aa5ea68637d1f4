import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { readBody } from './read-body.ts';

afterEach(() => vi.unstubAllGlobals());

function formOf(text: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(Buffer.byteLength(text)) };
  request.push(text);
  request.push(null);
  return request;
}

it('the parser of the platform, which takes long for each +, is given a form without one', async () => {
  const given: string[] = [];
  const Original = URLSearchParams;
  vi.stubGlobal(
    'URLSearchParams',
    class extends Original {
      constructor(text: string) {
        given.push(text);
        super(text);
      }
    },
  );
  const text = `a+b=+c%2B+d&é=${'+'.repeat(1_000)}`;
  const body = await readBody(formOf(text), { isNeeded: true, hold: () => {}, holdMade: () => {} });
  expect(body).toEqual({ kind: 'form', fields: [...new Original(text)] });
  expect(given).toHaveLength(2);
  expect(given.join('')).not.toContain('+');
});

it('what holds no more ends the reading', async () => {
  const hold = () => {
    throw new Error('no room');
  };
  await expect(readBody(formOf('a=b'), { isNeeded: true, hold, holdMade: () => {} })).rejects.toThrow('no room');
});

it('a piece of a body is not kept: a client decides how many there are', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const text = JSON.stringify({ path: `/${'é'.repeat(5_000)}` });
  const held: number[] = [];
  const read = readBody(request, { isNeeded: true, hold: (bytes) => held.push(bytes), holdMade: () => {} });
  await setImmediate();
  for (const byte of Buffer.from(text)) {
    const piece = Buffer.from([byte]);
    request.push(piece);
    // Whoever keeps the piece has another one now.
    piece.fill(0);
  }
  request.push(null);
  expect(await read).toEqual({ kind: 'json', value: JSON.parse(text) });
  expect(held.at(-1)).toBe(Buffer.byteLength(text));
});
