import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
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
  const body = await readBody(formOf(text), { isNeeded: true, hold: () => {} });
  expect(body).toEqual({ kind: 'form', fields: [...new Original(text)] });
  expect(given).toHaveLength(2);
  expect(given.join('')).not.toContain('+');
});

it('what holds no more ends the reading', async () => {
  const hold = () => {
    throw new Error('no room');
  };
  await expect(readBody(formOf('a=b'), { isNeeded: true, hold })).rejects.toThrow('no room');
});
