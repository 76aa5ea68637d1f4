import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Answer } from '@wharf/egress';
import { expect, it } from 'vitest';
import { boundedBody } from './answers.ts';

it('a body whose pieces are all there leaves room for others between them, and ends with its caller', async () => {
  let left = 1_000_000;
  const answer = {
    statusCode: 200,
    headers: {},
    complete: true,
    destroy: () => undefined,
    async *[Symbol.asyncIterator]() {
      for (; left > 0; left -= 1) yield Buffer.from('a piece');
    },
  } as unknown as Answer;
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  const read = async () => {
    for await (const _ of boundedBody(answer, gone.signal));
  };
  await expect(read()).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(left).toBeGreaterThan(0);
});

it('no piece is long, and memory that a connection lends is left as it is', async () => {
  const lent = Buffer.alloc(1_000_000, 'x');
  const answer = {
    complete: true,
    destroy: () => undefined,
    [Symbol.asyncIterator]: async function* () {
      yield lent;
    },
  } as unknown as Answer;
  const pieces = await Array.fromAsync(boundedBody(answer, undefined), (piece) => Buffer.from(piece));
  expect(Math.max(...pieces.map((piece) => piece.byteLength))).toBeLessThanOrEqual(65_536);
  expect(Buffer.concat(pieces)).toEqual(Buffer.alloc(1_000_000, 'x'));
  expect(lent.byteLength).toBe(1_000_000);
});

it('the memory of what a message hands out is freed when all of it was taken', async () => {
  const message = new IncomingMessage(new Socket());
  const whole = Buffer.alloc(1_000_000, 'x');
  message.push(whole);
  message.push(null);
  message.complete = true;
  const pieces = await Array.fromAsync(boundedBody(message, undefined), (piece) => Buffer.from(piece));
  expect(Buffer.concat(pieces)).toEqual(Buffer.alloc(1_000_000, 'x'));
  expect(whole.byteLength).toBe(0);
});

it('a message that has all come and is left before its end lets go of its connection', async () => {
  const message = new IncomingMessage(new Socket());
  for (let piece = 0; piece < 5; piece += 1) message.push(Buffer.alloc(10, 'x'));
  message.push(null);
  message.complete = true;
  for await (const _ of boundedBody(message, undefined)) break;
  expect(message.destroyed).toBe(true);
});

it('a message that stops before its end is left, also where nobody who has gone would end it', async () => {
  const message = new IncomingMessage(new Socket());
  message.push('some');
  const read = Array.fromAsync(boundedBody(message, undefined, undefined, 20), (piece) => String(piece));
  await expect(read).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(message.destroyed).toBe(true);
});
