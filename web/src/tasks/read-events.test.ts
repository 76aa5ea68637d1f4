import { expect, it } from 'vitest';
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
