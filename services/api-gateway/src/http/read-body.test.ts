import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { readBody } from './read-body.ts';

const MIB = 1024 * 1024;
const turns = { come: async () => {} };

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
  const body = await readBody(formOf(text), { turns, isNeeded: true, hold: () => {}, holdMade: () => {} });
  expect(body).toEqual({ kind: 'form', fields: [...new Original(text)] });
  expect(given).toHaveLength(2);
  expect(given.join('')).not.toContain('+');
});

it('what holds no more ends the reading', async () => {
  const hold = () => {
    throw new Error('no room');
  };
  await expect(readBody(formOf('a=b'), { turns, isNeeded: true, hold, holdMade: () => {} })).rejects.toThrow('no room');
});

it('a piece of a body is not kept: a client decides how many there are', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const text = JSON.stringify({ path: `/${'é'.repeat(5_000)}` });
  const held: number[] = [];
  const read = readBody(request, { turns, isNeeded: true, hold: (bytes) => held.push(bytes), holdMade: () => {} });
  await setImmediate();
  for (const byte of Buffer.from(text)) {
    const piece = Buffer.from([byte]);
    request.push(piece);
    // Whoever keeps the piece has another one now.
    piece.fill(0);
  }
  request.push(null);
  expect(await read).toEqual({ kind: 'json', value: JSON.parse(text) });
  expect(held.at(-1)).toBeGreaterThanOrEqual(Buffer.byteLength(text));
});

it.each([
  ['as much as is announced in the end, and no more than twice what came', '2150000', 2_150_000],
  ['no more than there may be, where nothing is announced', undefined, 4 * MIB],
])('room is made for %s, and what is counted is the room', async (_what, announced, most) => {
  const request = new IncomingMessage(new Socket());
  request.headers = announced === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': announced };
  const made: number[] = [];
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation((size) => {
    made.push(size);
    return Buffer.alloc(size);
  });
  onTestFinished(() => allocate.mockRestore());
  const held: number[] = [];
  const read = readBody(request, { turns, isNeeded: true, hold: (bytes) => held.push(bytes), holdMade: () => {} });
  for (let sent = 0; sent < most; sent += 50_000) request.push(Buffer.alloc(Math.min(50_000, most - sent), 'a'));
  request.push(null);
  await read;
  expect(made).toEqual(held);
  expect(made.slice(0, 3)).toEqual([50_000, 100_000, 200_000]);
  expect(made.at(-1)).toBe(most);
});
