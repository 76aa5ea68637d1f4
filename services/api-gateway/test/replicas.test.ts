import { at, waitFor } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD, type Cluster, openCluster, type Pair } from './cluster.ts';

const LOCKED = 'Too many unsuccessful sign-in attempts have been made using an incorrect username or password, Try again later.';

let cluster: Cluster;
let one: Pair;
let two: Pair;
let admin: string;
let last = 0;

/** An address that nobody else uses here. */
const newAddress = () => `198.18.${Math.trunc(++last / 250)}.${last % 250}`;

async function ok(pair: Pair, path: string, token: string, body?: unknown): Promise<unknown> {
  const { code, message, data } = await pair.ask(path, { token, body, address: newAddress() });
  expect([code, message], path).toEqual([200, 'success']);
  return data;
}

const login = async (pair: Pair, username: string, password = 'x', otp_code = '') =>
  String(at(await ok(pair, '/api/auth/login', '', { username, password, otp_code }), 'token'));

async function makeUser() {
  const username = `user${++last}`;
  await ok(one, '/api/admin/user/create', admin, { username, password: 'x', base_path: '/' });
  const list = at(await ok(one, '/api/admin/user/list', admin), 'content');
  const user = Array.isArray(list) ? list.find((each) => at(each, 'username') === username) : undefined;
  return { id: Number(at(user, 'id')), username };
}

const codeOf = (pair: Pair, secret: string, steps = 0) => generateSync({ secret, epoch: Math.floor(pair.kit.clock() / 1000) + 30 * steps });

/** Switches two-step verification on; the next code that counts is that of the step to come, which the clock makes the present one at most. */
async function switchOtpOn(token: string): Promise<string> {
  const secret = String(at(await ok(one, '/api/auth/2fa/generate', token, {}), 'secret'));
  await ok(two, '/api/auth/2fa/verify', token, { secret, code: codeOf(two, secret) });
  return secret;
}

type User = Awaited<ReturnType<typeof makeUser>>;
/** What ends logins; each is given the user, and one of the logins that it may end. */
const ENDINGS: [string, (user: User, token: string) => Promise<unknown>][] = [
  ['logout', (_, token) => ok(one, '/api/auth/logout', token)],
  [
    'revocation',
    async (_, token) => {
      const sessions = at(await ok(one, '/api/me/sessions', token), 'content');
      const current = Array.isArray(sessions) ? sessions.find((each) => at(each, 'current')) : undefined;
      await ok(one, '/api/me/sessions/revoke', token, { id: at(current, 'id') });
    },
  ],
  ['another password', ({ id, username }) => ok(one, '/api/admin/user/update', admin, { id, username, password: 'y', base_path: '/' })],
  ['another password by the user', ({ username }, token) => ok(one, '/api/me/update', token, { username, password: 'y' })],
  ['another name', ({ id, username }) => ok(one, '/api/admin/user/update', admin, { id, username: `${username}-b`, base_path: '/' })],
  ['disabling', ({ id, username }) => ok(one, '/api/admin/user/update', admin, { id, username, disabled: true, base_path: '/' })],
  ['deletion', ({ id }) => ok(one, `/api/admin/user/delete?id=${id}`, admin, {})],
  ['the end of two-step verification', ({ id }) => ok(one, `/api/admin/user/cancel_2fa?id=${id}`, admin, {})],
];

/**
 * Ends logins in every way through one gateway; the milliseconds until the other one refuses each. One after the other, each must tell the
 * other gateway by itself; at once is quicker where nothing tells it.
 */
async function timesToRefusal(order: 'one after the other' | 'at once'): Promise<number[]> {
  const bystander = await makeUser();
  const kept = await login(two, bystander.username);
  const people = await Promise.all(
    ENDINGS.map(async ([name, end]) => {
      const user = await makeUser();
      const token = await login(one, user.username);
      const needsOtp = name.includes('two-step');
      const other = needsOtp ? undefined : await login(two, user.username);
      if (needsOtp) await switchOtpOn(token);
      return { name, end, user, token, other };
    }),
  );
  const measure = async ({ name, end, user, token, other }: (typeof people)[number]) => {
    // The other gateway knows the login well.
    await ok(two, '/api/me', token);
    await end(user, token);
    const endedAt = performance.now();
    await waitFor(`the end of a login by ${name}`, async () => (await two.ask('/api/me', { token })).code === 401, { everyMs: 50 });
    const time = performance.now() - endedAt;
    if (name === 'logout' || name === 'revocation') await ok(two, '/api/me', other ?? '');
    expect((await one.ask('/api/me', { token })).code, name).toBe(401);
    return time;
  };
  const times: number[] = [];
  if (order === 'at once') times.push(...(await Promise.all(people.map(measure))));
  else for (const person of people) times.push(await measure(person));
  await ok(one, '/api/me', kept);
  await ok(two, '/api/me', admin);
  return times;
}

beforeAll(async () => {
  cluster = await openCluster();
  [one, two] = cluster.pairs;
  admin = await login(one, 'admin', ADMIN_PASSWORD);
});
afterAll(() => cluster?.close());

describe('two gateways and two replicas of auth (C11)', () => {
  it('a login through one is a login through the other', async () => {
    const { username } = await makeUser();
    expect(at(await ok(two, '/api/me', await login(one, username)), 'username')).toBe(username);
    expect(at(await ok(one, '/api/me', await login(two, username)), 'username')).toBe(username);
  });

  it('failures are counted together', async () => {
    const { username } = await makeUser();
    const address = newAddress();
    const attempt = (pair: Pair, password: string) => pair.ask('/api/auth/login', { body: { username, password }, address });
    for (const pair of [one, two, one, two, one])
      expect(await attempt(pair, 'wrong')).toEqual({ code: 401, message: 'Invalid username or password', data: null });
    for (const pair of [one, two]) expect(await attempt(pair, 'x')).toEqual({ code: 429, message: LOCKED, data: null });
    await login(two, username);
  });

  it('of fifty logins at once with one two-step code exactly one works', async () => {
    const { username } = await makeUser();
    const secret = await switchOtpOn(await login(one, username));
    expect(await one.ask('/api/auth/login', { body: { username, password: 'x' }, address: newAddress() })).toMatchObject({
      code: 402,
      message: 'Invalid 2FA code',
    });
    const body = { username, password: 'x', otp_code: codeOf(one, secret, 1) };
    const attempts = Array.from({ length: 50 }, (_, i) => (i % 2 ? one : two).ask('/api/auth/login', { body, address: newAddress() }));
    const codes = (await Promise.all(attempts)).map(({ code }) => code).sort();
    // Those behind the fifth wrong one are not looked at.
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => code !== 402 && code !== 429)).toEqual([200]);
  });

  it('two-step verification is seen in /api/me at once, and recovery codes log in once', async () => {
    const { username } = await makeUser();
    const token = await login(one, username);
    expect(at(await ok(two, '/api/me', token), 'otp')).toBe(false);
    const secret = await switchOtpOn(token);
    expect(at(await ok(two, '/api/me', token), 'otp')).toBe(true);
    const codes = at(await ok(one, '/api/auth/2fa/recovery_codes', token, { code: codeOf(one, secret, 1) }), 'codes');
    const code = Array.isArray(codes) ? String(codes[0]) : '';
    await login(two, username, 'x', code);
    const again = await one.ask('/api/auth/login', { body: { username, password: 'x', otp_code: code }, address: newAddress() });
    expect(again.code).toBe(402);
    const replace = (body: object) => one.ask('/api/auth/2fa/verify', { token, body: { secret, code: '0', ...body } });
    expect(await replace({})).toMatchObject({ code: 400, message: expect.stringContaining('otp_code is missing'), data: null });
    expect(await replace({ otp_code: code })).toEqual({ code: 400, message: 'Invalid 2FA code', data: null });
  });

  it('a login that ended through one is refused by the other within two seconds', async () => {
    for (const time of await timesToRefusal('one after the other')) expect(time).toBeLessThan(2_000);
  });

  it('nobody ends the logins of others, and ids of logins are no tokens', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const [token, foreign] = [await login(one, user.username), await login(one, other.username)];
    const sessions = at(await ok(two, '/api/me/sessions', token), 'content');
    expect(sessions).toEqual([
      {
        id: expect.any(String),
        address: expect.stringMatching(/^198\.18\./),
        created_time: expect.any(String),
        expires_time: expect.any(String),
        device: '',
        current: true,
      },
    ]);
    const id = String(at(Array.isArray(sessions) ? sessions[0] : undefined, 'id'));
    for (const body of [{ id }, { id: 'no-such-id' }])
      expect(await two.ask('/api/me/sessions/revoke', { token: foreign, body })).toEqual({
        code: 404,
        message: 'session not found',
        data: null,
      });
    expect(await two.ask('/api/me', { token: id })).toMatchObject({ code: 401 });
    await ok(two, '/api/me', token);
  });

  it('who did what through either, from where, is in the audit trail', async () => {
    const { id, username } = await makeUser();
    const address = newAddress();
    const body = { username, password: 'x' };
    const { data } = await two.ask('/api/auth/login', { body, address });
    await one.ask('/api/auth/logout', { token: String(at(data, 'token')), address });
    const { content, total } = Object(await ok(one, `/api/admin/audit/list?user_id=${id}&per_page=10`, admin));
    expect(total).toBe(2);
    expect(content).toMatchObject([
      { action: 'logout', username, address },
      { action: 'login', username, address },
    ]);
  });

  it('the use of a login is noted, when the last that is known is some time ago', async () => {
    const { id, username } = await makeUser();
    const token = await login(one, username);
    const { sessions } = modelsOf(one.kit.store);
    const lastUsed = async () => (await sessions.findOne({ user_id: id }).lean())?.last_used_at?.getTime() ?? 0;
    const begun = await lastUsed();
    await ok(two, '/api/me', token);
    expect(await lastUsed()).toBe(begun);
    await sessions.updateOne({ user_id: id }, { $set: { last_used_at: new Date(begun - 11 * 60_000) } });
    await ok(one, '/api/me', token);
    await expect.poll(lastUsed, { timeout: 10_000 }).toBeGreaterThanOrEqual(begun);
  });

  it('no token, password, secret or code is in a log', async () => {
    const { username } = await makeUser();
    const password = 'a canary of a password';
    await ok(one, '/api/me/update', await login(one, username), { username, password });
    const token = await login(two, username, password);
    const secret = await switchOtpOn(token);
    const code = codeOf(one, secret, 1);
    await ok(one, '/api/auth/2fa/recovery_codes', token, { code });
    await ok(two, '/api/auth/logout', token);
    await two.ask('/api/me', { token });
    for (const text of [password, token, admin, secret]) expect(cluster.log()).not.toContain(text);
  });

  it('without the bus a login that ended is refused within five seconds', async () => {
    await cluster.stopBus();
    // It is asked every 50 ms, and the question takes its time too.
    for (const time of await timesToRefusal('at once')) expect(time).toBeLessThan(5_500);
  });
});
