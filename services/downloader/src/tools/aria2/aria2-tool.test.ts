import { expect, it } from 'vitest';
import { createAria2Tool, throughProxy } from './aria2-tool.ts';

const SOURCE = { kind: 'metalink', name: 'm', content: Buffer.from('') } as const;
const ids = (count: number) => Array.from({ length: count }, (_, index) => index.toString(16).padStart(16, '0'));

const DIRECTORY = '/tools/aria2/task';

/** @param there what aria2 has, by the method that tells of it */
function add(answer: unknown, there: Record<string, unknown> = {}, called: string[] = []) {
  const call = async (method: string, params: readonly unknown[] = []) => {
    called.push(`${method} ${params[0]}`);
    return method.startsWith('aria2.tell') ? (there[method] ?? []) : answer;
  };
  const client = { call, version: async () => '1.37.0' };
  const tool = createAria2Tool(client, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' });
  return tool.add(SOURCE, DIRECTORY, new AbortController().signal, undefined);
}

it('a metalink becomes as many downloads as it may have addresses', async () => {
  expect((await add(ids(500))).split(',')).toHaveLength(500);
  expect(await add('0'.repeat(16))).toBe('0'.repeat(16));
});

it('a metalink whose answer was lost is begun anew in its folder, and not beside itself', async () => {
  const [first, second, other] = ids(3);
  const called: string[] = [];
  const there = {
    'aria2.tellActive': [{ gid: first, dir: DIRECTORY }],
    'aria2.tellWaiting': [
      { gid: other, dir: `${DIRECTORY}-2` },
      { gid: second, dir: DIRECTORY },
    ],
  };
  expect(await add(ids(2), there, called)).toBe(ids(2).join(','));
  expect(called.filter((call) => call.startsWith('aria2.forceRemove'))).toEqual([
    `aria2.forceRemove ${first}`,
    `aria2.forceRemove ${second}`,
  ]);
  expect(called.at(-1)).toMatch(/^aria2\.addMetalink /);
});

it.each([[ids(501)], [['x'.repeat(65)]], ['x'.repeat(65)], [[]], [''], [7]])('%# that names no downloads is refused', async (answer) => {
  await expect(add(answer)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
});

it.each([['x'.repeat(65)], ['a,b'], ['']])('a successor %# that is no download is refused', async (successor) => {
  const status = { status: 'complete', totalLength: '1', completedLength: '1', followedBy: [successor] };
  const client = { call: async () => status, version: async () => '1.37.0' };
  const tool = createAria2Tool(client, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' });
  await expect(tool.find('0'.repeat(16), DIRECTORY, new AbortController().signal)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
});

it('what is left of a metalink whose answer was lost is taken out, and nothing in other folders', async () => {
  const [first, other] = ids(2);
  const called: string[] = [];
  const call = async (method: string, params: readonly unknown[] = []) => {
    called.push(`${method} ${params[0]}`);
    const there = [
      { gid: first, dir: DIRECTORY },
      { gid: other, dir: `${DIRECTORY}-2` },
    ];
    return method === 'aria2.tellWaiting' ? there : [];
  };
  await createAria2Tool({ call, version: async () => '1.37.0' }, { url: 'http://127.0.0.1:1', username: 'u', password: 'p' }).removeFrom(
    DIRECTORY,
    new AbortController().signal,
  );
  expect(called.filter((each) => !each.startsWith('aria2.tell'))).toEqual([
    `aria2.forceRemove ${first}`,
    `aria2.removeDownloadResult ${first}`,
  ]);
});

it.each(['all', 'http', 'https', 'ftp'])('whatever aria2 has for a proxy of its own, it goes through ours: %s', (kind) => {
  expect(throughProxy({ url: 'http://127.0.0.1:1', username: 'u', password: 'p' })).toMatchObject({
    [`${kind}-proxy`]: 'http://127.0.0.1:1',
    [`${kind}-proxy-user`]: 'u',
    [`${kind}-proxy-passwd`]: 'p',
    'no-proxy': '',
  });
});
