import { AppError } from '@wharf/errors';
import { settingsFrom } from '@wharf/models';
import { expect, it } from 'vitest';
import type { ToolAnswer } from './ask-tool.ts';
import { createTools } from './tools.ts';

const VERSION: ToolAnswer = {
  status: 200,
  headers: {},
  body: JSON.stringify({ jsonrpc: '2.0', id: 'wharf', result: { version: '1.37.0' } }),
};

/** aria2 at an address, which answers when the test says so. */
function open() {
  const asked: { readonly signal: AbortSignal | undefined; answer(value: ToolAnswer): void; fail(error: unknown): void }[] = [];
  const now = { ms: 0 };
  const item = { key: 'rpcdl_uri', value: 'http://127.0.0.1:6800/jsonrpc', help: '', type: 'string', options: '', group: 0, flag: 1 };
  const tools = createTools({
    ask: async ({ host }, { signal }) => {
      if (host !== '127.0.0.1:6800') throw new AppError('STORAGE_UNAVAILABLE', 'not there');
      const { promise, resolve, reject } = Promise.withResolvers<ToolAnswer>();
      asked.push({ signal, answer: resolve, fail: reject });
      return promise;
    },
    settings: async () => settingsFrom({ _id: 'settings', revision: 1, items: [item] }),
    clock: () => now.ms,
    proxy: () => ({
      url: 'http://127.0.0.1:1',
      username: 'u',
      password: 'p',
      expectVisit: () => ({ host: '', hasCome: () => true, forget() {} }),
    }),
  });
  return { tools, asked, now };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('a tool is asked once, however many ask for the list at the same time', async () => {
  const { tools, asked } = open();
  const lists = Array.from({ length: 64 }, () => tools.readyNames(new AbortController().signal));
  await turn();
  expect(asked).toHaveLength(1);
  asked[0]?.answer(VERSION);
  for (const list of lists) expect(await list).toEqual(['aria2']);
});

it('what comes of a look is remembered, also where nobody waits for it any more', async () => {
  const { tools, asked, now } = open();
  const caller = new AbortController();
  const list = tools.readyNames(caller.signal);
  await turn();
  caller.abort(new Error('gone'));
  expect(await list).toEqual([]);
  expect(asked[0]?.signal?.aborted).toBe(false);
  const second = tools.readyNames(new AbortController().signal);
  await turn();
  expect(asked).toHaveLength(1);
  asked[0]?.fail(new AppError('DEADLINE_EXCEEDED', 'no answer within 4 s'));
  expect(await second).toEqual([]);
  now.ms += 14_999;
  expect(await tools.readyNames(new AbortController().signal)).toEqual([]);
  expect(asked).toHaveLength(1);
  now.ms += 1;
  const third = tools.readyNames(new AbortController().signal);
  await turn();
  asked[1]?.answer(VERSION);
  expect(await third).toEqual(['aria2']);
});

it('who wants to download asks anew, together with others who do', async () => {
  const { tools, asked } = open();
  const { signal } = new AbortController();
  const first = tools.readyNames(signal);
  await turn();
  asked[0]?.fail(new AppError('STORAGE_UNAVAILABLE', 'away'));
  expect(await first).toEqual([]);
  const wanted = Array.from({ length: 10 }, () => tools.requireReady('aria2', signal));
  await turn();
  expect(asked).toHaveLength(2);
  asked[1]?.answer(VERSION);
  await Promise.all(wanted);
  expect(await tools.readyNames(signal)).toEqual(['aria2']);
  expect(asked).toHaveLength(2);
});
