import { CarryCallsResponse } from '@wharf/proto/call';
import { expect, it } from 'vitest';
import { decodeAnswers } from './decode-answers.ts';

const response = (steps: number, message = Buffer.alloc(0)) =>
  CarryCallsResponse.fromPartial({
    steps: Array.from({ length: steps }, (_, index) => ({ call_id: index + 1, message })),
    retires: true,
    last_call_id: 7,
  });

it.each([
  [0, 0],
  [1, 200_000],
  [1_000, 300],
  [100_000, 0],
])('%i steps of %i bytes are read', (steps, size) => {
  const sent = response(steps, Buffer.alloc(size, 1));
  const read = decodeAnswers(CarryCallsResponse.encode(sent).finish());
  expect(read.steps).toHaveLength(steps);
  expect(read.steps.at(-1)?.call_id).toBe(sent.steps.at(-1)?.call_id);
  expect(read).toMatchObject({ retires: true, last_call_id: 7 });
});

it('steps without end are refused before they are taken', () => {
  const bytes = Buffer.concat(Array.from({ length: 100_001 }, () => Buffer.from([0x0a, 4, 0x08, 1, 0x12, 0])));
  expect(() => decodeAnswers(bytes)).toThrow('more steps');
});

it.each([[[0xff]], [[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]], [[0x0b]], [[0x80]]])('what is no message is none: %j', (bytes) => {
  expect(() => decodeAnswers(Buffer.from(bytes))).toThrow();
});
