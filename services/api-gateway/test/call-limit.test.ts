import { waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, openGateway } from './gateway.ts';

const SEE_ALL = 0xffff;
let gateway: Gateway;

beforeAll(async () => {
  gateway = await openGateway({ callsPerUser: 4 });
}, 60_000);
afterAll(() => gateway?.close());

const list = (token: string) => gateway.request({ path: '/api/fs/list?path=/', headers: token === '' ? {} : { Authorization: token } });
const asked = () => gateway.stubs.asked.filter(({ rpc }) => rpc === 'fs.listEntries').length;

/** Calls that are answered when `end` is called. */
async function longCalls(token: string, count: number) {
  const hold = Promise.withResolvers<void>();
  gateway.stubs.answers.set('fs.listEntries', () => hold.promise.then(() => ({})));
  const before = asked();
  const answers = Array.from({ length: count }, () => list(token));
  await waitFor('the calls to have come', async () => asked() === before + count);
  gateway.stubs.answers.delete('fs.listEntries');
  return async () => {
    hold.resolve();
    return (await Promise.all(answers)).map((answer) => (answer.json() as { code: number }).code);
  };
}

it('of one user only so many calls are answered at a time, and others are answered meanwhile', async () => {
  const [token, other] = [await gateway.login(SEE_ALL), await gateway.login(SEE_ALL)];
  await gateway.setGuest({ disabled: false, permission: SEE_ALL });
  const end = await longCalls(token, 4);
  const refused = await list(token);
  expect(refused.json()).toMatchObject({ code: 503 });
  expect(refused.headers['retry-after']).toBe('10');
  for (const who of [other, '']) expect((await list(who)).json()).toMatchObject({ code: 200 });
  expect(await end()).toEqual([200, 200, 200, 200]);
  expect((await list(token)).json()).toMatchObject({ code: 200 });
});

it('streams of events are counted apart', async () => {
  const token = await gateway.login(SEE_ALL);
  const end = await longCalls(token, 4);
  const watching = new AbortController();
  const stream = await fetch(`${gateway.base}/api/task/events`, { headers: { Authorization: token }, signal: watching.signal });
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  await end();
  expect((await list(token)).json()).toMatchObject({ code: 200 });
  watching.abort();
});

it('guests are counted by their address, and do not keep anybody from logging in', async () => {
  await gateway.setGuest({ disabled: false, permission: SEE_ALL });
  const end = await longCalls('', 4);
  expect((await list('')).json()).toMatchObject({ code: 503 });
  const body = JSON.stringify({ username: 'nobody', password: 'x' });
  const headers = { 'Content-Type': 'application/json' };
  expect((await gateway.request({ method: 'POST', path: '/api/auth/login', headers, body })).json()).toMatchObject({ code: 200 });
  await end();
});

it('a call whose client went away is no longer counted once it has ended', async () => {
  const token = await gateway.login(SEE_ALL);
  const { answers } = gateway.stubs;
  const before = asked();
  answers.set(
    'fs.listEntries',
    (_request: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  );
  const client = new AbortController();
  const calls = Array.from({ length: 4 }, () =>
    fetch(`${gateway.base}/api/fs/list?path=/`, { headers: { Authorization: token }, signal: client.signal }).catch(() => undefined),
  );
  await waitFor('the calls to have come', async () => asked() === before + 4);
  answers.delete('fs.listEntries');
  client.abort();
  await Promise.all(calls);
  await waitFor('room', async () => list(token).then((answer) => (answer.json() as { code: number }).code === 200));
});
