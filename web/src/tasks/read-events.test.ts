import { expect, it, vi } from 'vitest';
import { readEvents } from './read-events.ts';

const STREAM = ': still here\n\nevent: snapshot\ndata: [1,\ndata: 2]\n\nevent: task\ndata: {"id":"ü"}\n\nevent: removed\ndata: {"id"';

it.each([1, 2, 3, 7, 1_000])('events come whole, however they are cut: %i bytes at a time', async (size) => {
  const bytes = new TextEncoder().encode(STREAM);
  const chunks = async function* () {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
  };
  expect(await Array.fromAsync(readEvents(chunks()))).toEqual([
    { name: 'snapshot', data: '[1,\n2]' },
    { name: 'task', data: '{"id":"ü"}' },
  ]);
});

it('a long event is looked through once, however many pieces it comes in', async () => {
  const piece = new TextEncoder().encode('x'.repeat(1_000));
  const chunks = async function* () {
    yield new TextEncoder().encode('data: ');
    for (let count = 0; count < 1_000; count += 1) yield piece;
    yield new TextEncoder().encode('\n\n');
  };
  const spies = (['indexOf', 'split'] as const).map((method) => vi.spyOn(String.prototype, method));
  const [event] = await Array.fromAsync(readEvents(chunks()));
  const looks = spies.flatMap(({ mock }) => mock.contexts).reduce<number>((sum, text) => sum + String(text).length, 0);
  for (const spy of spies) spy.mockRestore();
  expect(event?.data).toHaveLength(1_000_000);
  expect(looks).toBeLessThan(5_000_000);
});
