import { setImmediate } from 'node:timers/promises';
import { forOwner } from '@wharf/pace';
import { expect, it } from 'vitest';
import type { Call } from './call.ts';
import { LONG_TEXT_LETTERS } from './long-texts.ts';
import { defineRpcService, forAnyone, invoke, type MethodDefinition } from './service.ts';

const call: Call = {
  ...{ requestId: '', revisions: { auth: 0, admin: 0 }, signal: new AbortController().signal },
  identity: { kind: 'service', name: 'fs' } as never,
};
const method = (name: string, responseStream: boolean) => ({ name, responseStream, requestStream: false, options: {} }) as MethodDefinition;

it('of calls with long texts one goes on in each turn of the event loop, by turns of their owners; short ones wait for none', async () => {
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) global.setImmediate(count);
  };
  global.setImmediate(count);
  const begun: { name: string; turn: number }[] = [];
  const begin = ({ name }: { name: string }) => void begun.push({ name, turn });
  const service = defineRpcService(
    { name: 'Fs', fullName: 'wharf.Fs', methods: { get: method('get', false), list: method('list', true) } },
    {
      get: forAnyone(async (request: never) => begin(request)),
      list: forAnyone(async function* (request: never) {
        begin(request);
        yield 'page';
      }),
    } as never,
  );
  const path = `/${'a'.repeat(LONG_TEXT_LETTERS)}`;
  const ask = (owner: string, name: string, asked = path) => forOwner(owner, () => invoke(service, 'get', { name, path: asked }, call));
  const answers = [ask('eve', 'eve 1'), ask('eve', 'eve 2'), ask('eve', 'eve 3'), ask('vic', 'vic'), ask('bob', 'short', '/a')];
  const pages = forOwner('ann', () => Array.fromAsync(invoke(service, 'list', { name: 'pages', path }, call) as AsyncIterable<unknown>));
  await Promise.all(answers);
  expect(await pages).toEqual(['page']);
  isOver = true;
  await setImmediate();
  const names = begun.map(({ name }) => name);
  expect(names[0]).toBe('short');
  expect(names.at(-1)).toBe('eve 3');
  expect(new Set(begun.map((each) => each.turn)).size).toBe(begun.length);
});

it('a call with a long text tells since when it has waited for its turn', async () => {
  const calls: Call[] = [];
  const handlers = { get: forAnyone(async (_request: never, inTurn: Call) => void calls.push(inTurn)) };
  const service = defineRpcService({ name: 'Fs', fullName: 'wharf.Fs', methods: { get: method('get', false) } }, handlers as never);
  for (const length of [LONG_TEXT_LETTERS, LONG_TEXT_LETTERS + 1]) await invoke(service, 'get', { path: 'a'.repeat(length) }, call);
  const cameAtMs = performance.now();
  await invoke(service, 'get', { path: 'a'.repeat(LONG_TEXT_LETTERS + 1) }, { ...call, cameAtMs });
  expect(calls.map((each) => each.cameAtMs)).toEqual([undefined, expect.any(Number), cameAtMs]);
});

it.each([false, true])('a call with a long text that is cancelled before its turn begins nothing (stream: %s)', async (isStream) => {
  let hasBegun = false;
  const handlers = {
    get: forAnyone(async () => {
      hasBegun = true;
    }),
    list: forAnyone(async function* () {
      hasBegun = true;
      yield 'page';
    }),
  };
  const service = defineRpcService(
    { name: 'Fs', fullName: 'wharf.Fs', methods: { get: method('get', false), list: method('list', true) } },
    handlers as never,
  );
  const gone = new AbortController();
  const answer = invoke(service, isStream ? 'list' : 'get', { path: 'a'.repeat(LONG_TEXT_LETTERS + 1) }, { ...call, signal: gone.signal });
  const done = isStream ? Array.fromAsync(answer as AsyncIterable<unknown>) : (answer as Promise<unknown>);
  gone.abort();
  await expect(done).rejects.toBe(gone.signal.reason);
  expect(hasBegun).toBe(false);
});
