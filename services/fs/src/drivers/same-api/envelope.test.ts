import { collectGarbage } from '@wharf/pace';
import { expect, it } from 'vitest';
import { readEnvelope } from './envelope.ts';

async function* pieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let from = 0; from < all.byteLength; from += bytes) yield all.subarray(from, from + bytes);
}

async function read(text: string, bytes = 7, listed = 'content') {
  const items: unknown[] = [];
  const reading = readEnvelope(pieces(text, bytes), listed);
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return { items, envelope: step.value };
    items.push(step.value);
  }
}

const ITEMS = [
  { name: 'a "quoted" \\ name]}', size: 1, hash_info: { md5: 'x', list: [1, [2]] } },
  { name: 'é😀', note: '{[":,' },
  { name: 'content' },
];
const success = (data: unknown) => JSON.stringify({ code: 200, message: 'success', data });

it.each([1, 2, 3, 7, 64, 100_000])('items come one by one from pieces of %i bytes', async (bytes) => {
  const { items, envelope } = await read(success({ content: ITEMS, total: 3, readme: 'a "content":[{' }), bytes);
  expect(items).toEqual(ITEMS);
  expect(envelope).toEqual({ code: 200, message: 'success', data: { content: [], total: 3, readme: 'a "content":[{' } });
});

it.each([
  ['no list', success({ token: 't' }), { token: 't' }],
  ['null in its place', success({ content: null, total: 0 }), { content: null, total: 0 }],
  ['an empty list', success({ content: [] }), { content: [] }],
  ['a list of another name', success({ related: [{ a: 1 }] }), { related: [{ a: 1 }] }],
  ['space and line ends', JSON.stringify({ code: 200, message: '', data: { content: [] } }, null, 2), { content: [] }],
])('an answer with %s has no items', async (_, text, data) => {
  const { items, envelope } = await read(text);
  expect(items).toEqual([]);
  expect(envelope.data).toEqual(data);
});

it('a list may be as long as it is', async () => {
  const { items } = await read(success({ content: Array.from({ length: 30_000 }, (_, name) => ({ name })) }), 65_536);
  expect(items).toHaveLength(30_000);
});

it('a failure is told by its code', async () => {
  const { envelope } = await read('{"code":500,"message":"object not found","data":null}');
  expect(envelope).toMatchObject({ code: 500, message: 'object not found' });
});

const whole = success({ content: ITEMS });
it.each([
  ['half of it', whole.slice(0, -1)],
  ['an item that breaks off', whole.slice(0, 80)],
  ['no JSON', '<html>'],
  ['what ends more often than it begins', '{"code":200}}}}}{'],
  ['nothing', ''],
  ['another kind of JSON', '[1,2]'],
  ['a list before its code', '{"data":{"content":[{"name":"a"}]},"code":200}'],
  ['a list in a failure', '{"code":500,"message":"","data":{"content":[{"name":"a"}]}}'],
  ['items that are no JSON', '{"code":200,"message":"","data":{"content":[{name}]}}'],
  ['levels without an end', `{"code":200,"data":{"content":[${'{"a":'.repeat(100)}`],
  ['an item without an end', `{"code":200,"message":"","data":{"content":[{"name":"${'x'.repeat(300_000)}`],
  ['values without an end', `{"code":200,"message":"","data":{"x":[${'{},'.repeat(100_000)}0],"content":[]}}`],
  ['keys without an end', `{"code":200,"message":"","data":{${Array.from({ length: 100_000 }, (_, key) => `"${key}":0`).join()}}}`],
  ['an item of values without an end', `{"code":200,"message":"","data":{"content":[{"name":[${'0,'.repeat(100_000)}0]}]}}`],
  ['a text without an end', `{"code":200,"message":"${'x'.repeat(5_000_000)}`],
])('%s is refused', async (_, text) => {
  await expect(read(text, 65_536)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('what is kept of an answer does not keep the pieces that it came in', async () => {
  const piece = Buffer.alloc(32 * 1024, ' ');
  piece.write(']  "content":[');
  const held: number[] = [];
  async function* lists() {
    yield Buffer.from('{"code":200,"message":"","data":{"content":[');
    for (let each = 0; each < 1_000; each += 1) yield piece;
    collectGarbage('regular');
    held.push(process.memoryUsage().heapUsed);
  }
  collectGarbage('regular');
  const before = process.memoryUsage().heapUsed;
  await expect(readEnvelope(lists(), 'content').next()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  // The pieces were 32 MiB.
  expect((held[0] ?? 0) - before).toBeLessThan(8 * 1024 * 1024);
});
