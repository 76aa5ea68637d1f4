import { expect, it } from 'vitest';
import type { Call } from './call.ts';
import { createOneByOne } from './one-by-one.ts';

const callOf = (signal = new AbortController().signal): Call => ({
  ...{ identity: undefined, requestId: '', revisions: { auth: 0, admin: 0 } },
  signal,
});

it('a call begins when the one before it is over, also one whose answer comes in pieces, and not where its caller has gone', async () => {
  const turns = createOneByOne();
  const begun: string[] = [];
  const first = Promise.withResolvers<string>();
  const begin = turns.call((name: string) => {
    begun.push(name);
    return name === 'first' ? first.promise : Promise.resolve(name);
  });
  const pieces = turns.stream(async function* (name: string) {
    begun.push(name);
    yield* ['a', 'b'];
  });
  const leaver = new AbortController();
  const answers = [begin('first', callOf()), begin('second', callOf(leaver.signal)), begin('third', callOf())];
  const gone = expect(answers[1]).rejects.toThrow('left');
  leaver.abort(new Error('left'));
  await gone;
  const stream = pieces('pieces', callOf());
  const piece = stream.next();
  const last = begin('last', callOf());
  expect(begun).toEqual(['first']);
  first.resolve('done');
  expect([await answers[0], await answers[2], (await piece).value]).toEqual(['done', 'third', 'a']);
  expect(begun).toEqual(['first', 'third', 'pieces']);
  await stream.return();
  expect([await last, begun.at(-1)]).toEqual(['last', 'last']);
});

it('what is being made for a caller who has gone is over before the next begins', async () => {
  const turns = createOneByOne();
  const caller = new AbortController();
  const [isBegun, made] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const first = turns
    .stream(async function* () {
      isBegun.resolve();
      yield await made.promise;
    })({}, callOf(caller.signal))
    .next();
  const begun: string[] = [];
  const next = turns.call(async () => begun.push('next'))({}, callOf());
  await isBegun.promise;
  caller.abort();
  await new Promise(setImmediate);
  expect(begun).toEqual([]);
  made.resolve('late');
  expect([(await first).done, await next]).toEqual([true, 1]);
});

it('an answer in pieces that nobody takes any more keeps nobody waiting', async () => {
  const turns = createOneByOne();
  const caller = new AbortController();
  const stream = turns.stream(async function* () {
    yield* ['a', 'b'];
  })({}, callOf(caller.signal));
  await stream.next();
  const next = turns.call(async () => 'next')({}, callOf());
  caller.abort();
  expect(await next).toBe('next');
});

it('who asks for many waits behind these, and not the others', async () => {
  const begun: string[] = [];
  const begin = createOneByOne().call(async (name: string) => void begun.push(name));
  const as = (id: number): Call => ({
    ...callOf(),
    identity: { kind: 'user', id, username: '', role: 0, permission: 0, basePath: '/', sessionId: '' } as Call['identity'],
  });
  await Promise.all([...['a', 'b', 'c'].map((name) => begin(name, as(1))), begin('other', as(2))]);
  expect(begun).toEqual(['a', 'b', 'other', 'c']);
});
