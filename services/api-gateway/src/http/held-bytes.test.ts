import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createHeldBytes } from './held-bytes.ts';

const UNCOUNTED = 64 * 1024;
const response = () => new ServerResponse(new IncomingMessage(new Socket()));

it('counts what is more than a little, for each caller and for all, until the answer is over', () => {
  const held = createHeldBytes(1_000);
  const first = response();
  const hold = held.of(first, 1);
  hold(UNCOUNTED + 300);
  hold(UNCOUNTED + 500);
  // It is told how much there is by now, not how much more.
  hold(UNCOUNTED + 500);
  expect(() => held.of(response(), 1)(UNCOUNTED + 1)).toThrow('too much is being sent and taken at once');
  held.of(response(), 1)(UNCOUNTED);
  held.of(response(), undefined)(UNCOUNTED + 500);
  expect(() => held.of(response(), 2)(UNCOUNTED + 1)).toThrow('too much');
  first.emit('close');
  held.of(response(), 2)(UNCOUNTED + 500);
});

it('counts nothing for a client that is gone', () => {
  const held = createHeldBytes(1_000);
  const gone = response();
  gone.destroy();
  expect(() => held.of(gone, 1)(UNCOUNTED + 500)).toThrow('the client went away');
  held.of(response(), 1)(UNCOUNTED + 500);
});
