import { expect, it } from 'vitest';
import { createAria2Tool } from './aria2-tool.ts';

const SOURCE = { kind: 'metalink', name: 'm', content: Buffer.from('') } as const;
const ids = (count: number) => Array.from({ length: count }, (_, index) => index.toString(16).padStart(16, '0'));

function add(answer: unknown) {
  const client = { call: async () => answer, version: async () => '1.37.0' };
  const tool = createAria2Tool(client, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' });
  return tool.add(SOURCE, '/tools/aria2/task', new AbortController().signal, undefined);
}

it('a metalink becomes as many downloads as it may have addresses', async () => {
  expect((await add(ids(500))).split(',')).toHaveLength(500);
  expect(await add('0'.repeat(16))).toBe('0'.repeat(16));
});

it.each([[ids(501)], [['x'.repeat(65)]], ['x'.repeat(65)], [[]], [''], [7]])('%# that names no downloads is refused', async (answer) => {
  await expect(add(answer)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
});

it.each([['x'.repeat(65)], ['a,b'], ['']])('a successor %# that is no download is refused', async (successor) => {
  const status = { status: 'complete', totalLength: '1', completedLength: '1', followedBy: [successor] };
  const client = { call: async () => status, version: async () => '1.37.0' };
  const tool = createAria2Tool(client, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' });
  await expect(tool.find('0'.repeat(16), new AbortController().signal)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
});
