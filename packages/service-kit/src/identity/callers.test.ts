import { randomBytes } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { type AccountUser, createCallers } from './callers.ts';
import { createLoginTokens, type LoginClaims } from './login-tokens.ts';

const KEY = randomBytes(32);
const NOW_S = 1_800_000_000;

function account(fields: Partial<AccountUser>): AccountUser {
  const plain = {
    id: 3,
    username: 'ann',
    role: 0,
    permission: 0,
    base_path: '/',
    disabled: false,
    sso_id: '',
    otp: false,
    allow_ldap: true,
    pwd_ts: 5,
  };
  return { ...plain, ...fields };
}

/** Callers over accounts that the test changes. */
function setUp() {
  const world = {
    now: NOW_S * 1000,
    reads: 0,
    users: new Map([
      ['ann', account({})],
      ['guest', account({ id: 2, username: 'guest', role: 1, disabled: true })],
      ['admin', account({ id: 1, username: 'admin', role: 2 })],
    ]),
    sessions: new Map([['sid-1', 'ann']]),
    permanent: 'permanent-token-of-the-admin',
    isAway: false,
  };
  const clock = () => world.now;
  const tokens = createLoginTokens(KEY, clock);
  const callers = createCallers({
    tokens,
    clock,
    reads: {
      async findSessionUser(id) {
        if (world.isAway) throw Object.assign(new Error('connection closed'), { name: 'MongoNetworkError' });
        world.reads += 1;
        const name = world.sessions.get(id);
        return name === undefined ? undefined : { userId: 3, user: world.users.get(name) };
      },
      findUserByName: async (name) => world.users.get(name),
      findUserByRole: async (role) => [...world.users.values()].find((user) => user.role === role),
      async readPermanentToken() {
        if (world.isAway) throw Object.assign(new Error('connection closed'), { name: 'MongoNetworkError' });
        return world.permanent;
      },
    },
  });
  const claims = (fields: Partial<LoginClaims> = {}): LoginClaims => ({
    username: 'ann',
    pwd_ts: 5,
    sid: 'sid-1',
    iat: NOW_S,
    nbf: NOW_S,
    exp: NOW_S + 3600,
    ...fields,
  });
  return { world, callers, tokens, claims };
}

describe('callers', () => {
  it('a login is its user, raw or as Bearer', async () => {
    const { callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    for (const header of [token, `Bearer ${token}`, `bearer ${token} `])
      expect((await callers.establish(header)).identity).toMatchObject({ id: 3, sessionId: 'sid-1' });
  });

  it('nobody is the guest, when that is enabled', async () => {
    const { world, callers } = setUp();
    await expect(callers.establish('')).rejects.toThrow('Guest user is disabled, login please');
    world.users.set('guest', account({ id: 2, username: 'guest', role: 1 }));
    callers.invalidate();
    expect((await callers.establish(undefined)).identity).toMatchObject({ id: 2, role: 1 });
  });

  it('the permanent token is the admin, and an empty one is nobody', async () => {
    const { world, callers } = setUp();
    expect((await callers.establish(world.permanent)).identity).toMatchObject({ id: 1, role: 2, sessionId: '' });
    world.permanent = '';
    callers.invalidate();
    await expect(callers.establish(' ')).rejects.toThrow('Guest user is disabled');
  });

  it.each<[string, (world: ReturnType<typeof setUp>['world']) => void, string]>([
    ['was logged out', (world) => world.sessions.delete('sid-1'), 'token is invalidated'],
    ['changed the password', (world) => world.users.set('ann', account({ pwd_ts: 6 })), 'Password has been changed, login please'],
    ['was disabled', (world) => world.users.set('ann', account({ disabled: true })), 'Current user is disabled, replace please'],
    ['was deleted', (world) => world.users.delete('ann'), 'failed find user: record not found'],
    ['was renamed', (world) => world.users.set('ann', account({ username: 'anna' })), 'failed find user: record not found'],
  ])('who %s is refused and told why, with a session or without', async (_what, happen, message) => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    await callers.establish(token);
    happen(world);
    callers.invalidate();
    await expect(callers.establish(token)).rejects.toThrow(message);
    world.sessions.clear();
    callers.invalidate();
    await expect(callers.establish(token)).rejects.toThrow(message);
  });

  it('the end of one session is no matter of others, as long as no event was missed', async () => {
    const { world, callers, tokens, claims } = setUp();
    const [ended, other] = [tokens.sign(claims()), tokens.sign(claims({ sid: 'sid-2' }))];
    world.sessions.set('sid-2', 'ann');
    callers.hear({ revision: 7 });
    const both = () => Promise.all([ended, other].map((token) => callers.establish(token)));
    await both();
    world.sessions.delete('sid-1');
    callers.hear({ revision: 8, sessionId: 'sid-1' });
    await expect(callers.establish(ended)).rejects.toThrow('token is invalidated');
    await callers.establish(other);
    expect(world.reads).toBe(3);
    // One of a revision between was missed, or comes late.
    for (const revision of [10, 9]) {
      callers.hear({ revision, sessionId: 'sid-3' });
      const before = world.reads;
      await callers.establish(other);
      expect(world.reads).toBe(before + 1);
    }
    callers.hear({ revision: 11 });
    world.sessions.delete('sid-2');
    await expect(callers.establish(other)).rejects.toThrow('token is invalidated');
  });

  it('a session that ends while it is read is not remembered', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    callers.hear({ revision: 1 });
    const early = callers.establish(token);
    while (world.reads < 1) await Promise.resolve();
    world.sessions.clear();
    callers.hear({ revision: 2, sessionId: 'sid-1' });
    await early;
    await expect(callers.establish(token)).rejects.toThrow('token is invalidated');
  });

  it('a change without an event is seen after five seconds', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    await callers.establish(token);
    world.sessions.clear();
    await callers.establish(token);
    world.now += 5_000;
    await expect(callers.establish(token)).rejects.toThrow('token is invalidated');
  });

  it('the same where the clock is set back meanwhile', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims({ nbf: NOW_S - 7_200 }));
    await callers.establish(token);
    world.sessions.clear();
    world.now -= 3_600_000;
    await expect(callers.establish(token)).rejects.toThrow('token is invalidated');
  });

  it('the store is asked once for many requests of a session', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    for (let i = 0; i < 10; i += 1) await callers.establish(token);
    expect(world.reads).toBe(1);
  });

  it('requests that come while the store is asked wait for the same answer, unless something changed meanwhile', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    await Promise.all([callers.establish(token), callers.establish(token), callers.establish(token)]);
    expect(world.reads).toBe(1);
    callers.invalidate();
    const early = callers.establish(token);
    while (world.reads < 2) await Promise.resolve();
    world.sessions.clear();
    callers.invalidate();
    await expect(callers.establish(token)).rejects.toThrow('token is invalidated');
    await expect(early).resolves.toMatchObject({ identity: { username: 'ann' } });
  });

  it('while the store does not answer, whoever was known a minute ago may read, unless something changed since', async () => {
    const { world, callers, tokens, claims } = setUp();
    const token = tokens.sign(claims());
    const other = tokens.sign(claims({ sid: 'sid-2' }));
    await callers.establish(token);
    world.isAway = true;
    world.now += 59_000;
    const unavailable = { code: 'STORAGE_UNAVAILABLE' };
    expect((await callers.establish(token, { isReading: true })).identity).toMatchObject({ id: 3, sessionId: 'sid-1' });
    await expect(callers.establish(token)).rejects.toMatchObject(unavailable);
    await expect(callers.establish(other, { isReading: true })).rejects.toMatchObject(unavailable);
    callers.invalidate();
    await expect(callers.establish(token, { isReading: true })).rejects.toMatchObject(unavailable);
    world.isAway = false;
    await callers.establish(token);
    world.isAway = true;
    world.now += 60_000;
    await expect(callers.establish(token, { isReading: true })).rejects.toMatchObject(unavailable);
  });

  it('a login that was just made by a process whose clock is a little ahead is believed', async () => {
    const { callers, tokens, claims } = setUp();
    expect((await callers.establish(tokens.sign(claims({ iat: NOW_S + 20, nbf: NOW_S + 20 })))).identity).toMatchObject({ id: 3 });
  });

  it('a login that is made by a process that knows that the clock was set is believed by one that does not know yet', async () => {
    const { callers, claims } = setUp();
    let setS = 0;
    const ahead = createLoginTokens(
      KEY,
      () => (NOW_S + setS) * 1000,
      () => 0,
    );
    setS = 600;
    const made = claims({ iat: NOW_S + setS, nbf: NOW_S + setS });
    expect((await callers.establish(ahead.sign(made))).identity).toMatchObject({ id: 3 });
  });

  it('a login that was made before the clock was set back, or by a process that does not know of that, is believed', async () => {
    const { world, callers, tokens, claims } = setUp();
    const before = tokens.sign(claims());
    await callers.establish(before);
    world.now -= 600_000;
    for (const token of [before, tokens.sign(claims({ iat: NOW_S + 5, nbf: NOW_S + 5 }))]) {
      callers.invalidate();
      expect((await callers.establish(token)).identity).toMatchObject({ id: 3 });
    }
  });

  it('tokens that are not ours are refused with the texts of the family', async () => {
    const { world, callers, tokens, claims } = setUp();
    const cases: ReadonlyArray<readonly [string, string]> = [
      [tokens.sign(claims({ exp: NOW_S - 1 })), 'token is expired'],
      [tokens.sign(claims({ nbf: NOW_S + 60 })), 'token not active yet'],
      [jsonwebtoken.sign(claims(), '', { algorithm: 'none' }), 'token is invalidated'],
      [jsonwebtoken.sign(claims(), randomBytes(32)), 'token is invalidated'],
      [jsonwebtoken.sign(claims(), KEY, { algorithm: 'HS512' }), 'token is invalidated'],
      [jsonwebtoken.sign({ ...claims(), sid: undefined }, KEY), 'token is invalidated'],
      [tokens.sign(claims()).replace(/.(?=.$)/, (letter) => (letter === 'x' ? 'y' : 'x')), 'token is invalidated'],
      ['no-such-token', 'token is invalidated'],
      ['x'.repeat(1_000_000), 'token is invalidated'],
    ];
    for (const [token, message] of cases) await expect(callers.establish(token)).rejects.toThrow(message);
    world.now += 3_600_000;
    await expect(callers.establish(tokens.sign(claims()))).rejects.toThrow('token is expired');
  });
});
