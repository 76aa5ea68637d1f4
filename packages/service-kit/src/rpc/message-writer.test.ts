import { CallFailure, CarryCallsResponse } from '@wharf/proto/call';
import { expect, it } from 'vitest';
import { createMessageWriter, freeMessage } from './message-writer.ts';

const answer = (message: Uint8Array) => ({ steps: [{ call_id: 1, message, is_part: false, ends: true }], retires: false, last_call_id: 0 });
const texts = ['', 'a', 'é文', 'x'.repeat(100_000), '文'.repeat(400_000), 'short again'];

it('what was written before stays as it is when more is written', () => {
  const write = createMessageWriter();
  const written = texts.map((text) => write(CarryCallsResponse, answer(Buffer.from(text)) as never));
  const read = written.map((bytes) => CarryCallsResponse.decode(bytes).steps.map(({ message }) => Buffer.from(message ?? []).toString()));
  expect(read).toEqual(texts.map((text) => [text]));
});

it('a message that cannot be written leaves nothing behind in the next one', () => {
  const write = createMessageWriter();
  // Its first field is written before the second one fails.
  const broken = { message: 'half', error: undefined };
  expect(() => write(CallFailure, broken as never)).toThrow(TypeError);
  const bytes = write(CallFailure, { message: 'whole', error: Buffer.from('{}') } as never);
  expect(CallFailure.decode(bytes)).toMatchObject({ message: 'whole' });
  expect(bytes).toEqual(Buffer.from(CallFailure.encode({ message: 'whole', error: Buffer.from('{}') }).finish()));
});

it('a long message is freed by any part of it, a short one is left alone', () => {
  const write = createMessageWriter();
  const [short, long] = [100, 100_000].map((length) => write(CarryCallsResponse, answer(Buffer.alloc(length)) as never));
  for (const bytes of [short, long]) if (bytes) freeMessage(bytes.subarray(50, 60));
  expect([short?.byteLength, long?.byteLength]).toEqual([expect.any(Number), 0]);
  expect(short?.byteLength).toBeGreaterThan(100);
});
