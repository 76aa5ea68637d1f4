import { createHash } from 'node:crypto';
import { createLoginTokens, seal } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD, openPlace, type Place, type Replica } from './replica.ts';

let place: Place;
let replica: Replica;
let lastAddress = 0;

/** An address nobody has failed from. */
const address = () => `192.0.2.${++lastAddress}`;
const hashOf = (password: string) => createHash('sha256').update(`${password}-https://github.com/alist-org/alist`).digest('hex');
const makeUser = async (fields: { username: string; password?: string; disabled?: boolean }) =>
  (await replica.auth.createUser({ user: { base_path: '/', password: `password of ${fields.username}`, ...fields } }, replica.as())).id;

beforeAll(async () => {
  place = await openPlace();
  replica = await place.open();
});
afterAll(() => place?.close());

describe('a login', () => {
  it('is taken from our own services only, because they know where the client is', async () => {
    const request = { username: 'admin', password: ADMIN_PASSWORD, address: address() };
    for (const [options, code] of [
      [{}, 'UNAUTHENTICATED'],
      [replica.as(), 'PERMISSION_DENIED'],
    ] as const)
      for (const method of ['login', 'loginWithHash'] as const)
        await expect(replica.auth[method](request, options)).rejects.toMatchObject({ code });
  });

  it('answers a token of 48 hours with the claims that clients decode, and its session is stored', async () => {
    const { token } = await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: address() });
    const claims = createLoginTokens(replica.kit.keys.jwt, replica.kit.clock).verify(token);
    expect(claims).toMatchObject({ username: 'admin', nbf: claims.iat, exp: claims.iat + 48 * 3600 });
    expect(Buffer.from(claims.sid, 'base64url').length).toBeGreaterThanOrEqual(16);
    expect(await replica.models.sessions.findById(claims.sid).lean()).toMatchObject({
      user_id: 1,
      address: `192.0.2.${lastAddress}`,
      device: '',
      expires_at: new Date(claims.exp * 1000),
    });
    const { identity } = await replica.callers.establish(token);
    expect(identity).toMatchObject({ id: 1, role: 2, permission: 0xffff, basePath: '/', sessionId: claims.sid });
  });

  it('ends after 48 hours', async () => {
    const { token } = await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: address() });
    const hour = 3_600_000;
    replica.advance(48 * hour - 10_000);
    await replica.callers.establish(token);
    replica.advance(10_000);
    await expect(replica.callers.establish(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED', message: 'token is expired' });
    replica.advance(-48 * hour);
  });

  it('works with the static hash in either letter case', async () => {
    for (const password of [hashOf(ADMIN_PASSWORD), hashOf(ADMIN_PASSWORD).toUpperCase()]) {
      const { token } = await replica.auth.loginWithHash({ username: 'admin', password, address: address() });
      expect((await replica.callers.establish(token)).identity.username).toBe('admin');
    }
  });

  it('takes a name in any letter case and spelling that is the same name', async () => {
    await makeUser({ username: 'Ünal', password: 'x' });
    for (const username of ['Ünal', 'ünal', 'U\u0308NAL'])
      expect(await replica.auth.login({ username, password: 'x', address: address() })).toHaveProperty('token');
  });

  it.each([
    ['a wrong password', 'admin', 'wrong'],
    ['an empty password', 'admin', ''],
    ['the static hash given as a password', 'admin', hashOf(ADMIN_PASSWORD)],
    ['an unknown name', 'nobody', 'wrong'],
    ['a name that cannot exist', 'a/b', 'wrong'],
    ['an empty name', '', 'wrong'],
    ['a name of a megabyte', 'x'.repeat(1_000_000), 'wrong'],
    ['a user without a password', 'guest', ''],
    ['a user without a password and the well-known one', 'guest', 'guest'],
    ['a name that is a query', '{"$ne":""}', 'wrong'],
  ])('with %s is refused alike, at the price of one verification', async (_, username, password) => {
    const before = await replica.verifications();
    await expect(replica.auth.login({ username, password, address: address() })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: 'Invalid username or password',
    });
    expect((await replica.verifications()) - before).toBe(1);
  });

  it.each(['', hashOf(''), ADMIN_PASSWORD, 'x'])('with the static hash %j is refused', async (password) => {
    for (const username of ['admin', 'guest'])
      await expect(replica.auth.loginWithHash({ username, password, address: address() })).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
        message: 'Invalid username or password',
      });
  });

  it('with an overlong password is refused without a verification', async () => {
    const before = await replica.verifications();
    const password = 'x'.repeat(1_025);
    await expect(replica.auth.login({ username: 'admin', password, address: address() })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(replica.auth.loginWithHash({ username: 'admin', password, address: address() })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await replica.verifications()).toBe(before);
  });

  it('of a disabled user works, and the token is refused where it is used', async () => {
    await makeUser({ username: 'asleep', disabled: true });
    const { token } = await replica.auth.login({ username: 'asleep', password: 'password of asleep', address: address() });
    await expect(replica.callers.establish(token)).rejects.toMatchObject({ message: 'Current user is disabled, replace please' });
  });

  it('of a user who was made without a password is refused until there is one', async () => {
    const id = await makeUser({ username: 'unset', password: '' });
    for (const password of ['', 'x'])
      await expect(replica.auth.login({ username: 'unset', password, address: address() })).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
      });
    await replica.auth.updateUser({ user: { id, username: 'unset', base_path: '/', password: 'x' } }, replica.as());
    expect(await replica.auth.login({ username: 'unset', password: 'x', address: address() })).toHaveProperty('token');
  });

  it('with the password alone is refused to a user with a two-step secret, and counts as a failure', async () => {
    const id = await makeUser({ username: 'two-step', password: 'x' });
    await replica.models.users.updateOne(
      { _id: id },
      { $set: { otp_secret: seal(replica.kit.keys.atRest, 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ') } },
    );
    const from = address();
    await expect(replica.auth.login({ username: 'two-step', password: 'x', otp_code: '', address: from })).rejects.toMatchObject({
      code: 'OTP_REQUIRED',
      message: 'Invalid 2FA code',
    });
    expect(await replica.models.loginAttempts.findById(`address ${from}`).lean()).toMatchObject({ failures: 1 });
    expect((await replica.auth.getUser({ id }, replica.as())).user?.otp).toBe(true);
  });

  it('leaves neither password, hash nor token in the log', async () => {
    const { token } = await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: address() });
    await replica.callers.establish(token);
    for (const secret of [ADMIN_PASSWORD, hashOf(ADMIN_PASSWORD), token, '$argon2id$', 'wharf-'])
      expect(replica.log()).not.toContain(secret);
  });
});

describe('the logins of a user', () => {
  it('are at most a thousand: those used least recently end, also when many log in at once through two replicas', async () => {
    const { auth, models } = replica;
    const { id } = await auth.createUser({ user: { username: 'busy', password: 'x', base_path: '/' } }, replica.as());
    const logIn = async (each = replica) => {
      const { token } = await each.auth.login({ username: 'busy', password: 'x', address: '192.0.2.50' });
      return token;
    };
    const [used, unused] = [await logIn(), await logIn()];
    const sidOf = (token: string) => String(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sid);
    const now = replica.kit.clock();
    const made = (i: number) => ({ created_at: new Date(now + i), last_used_at: new Date(now + i), expires_at: new Date(now + 3_600_000) });
    await models.sessions.insertMany(Array.from({ length: 997 }, (_, i) => ({ _id: `filler ${i}`, user_id: id, ...made(i + 1) })));
    replica.advance(60_000);
    await auth.noteSessionUse({ id: sidOf(used) }, replica.kit.ownCall());
    await expect(auth.noteSessionUse({ id: sidOf(unused) }, replica.as())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    const other = await place.open();
    try {
      other.advance(60_000);
      const tokens = await Promise.all(Array.from({ length: 8 }, (_, i) => logIn(i % 2 ? replica : other)));
      expect(await models.sessions.countDocuments({ user_id: id })).toBe(1_000);
      for (const token of [used, ...tokens]) expect((await replica.callers.establish(token)).identity.id).toBe(id);
      await expect(other.callers.establish(unused)).rejects.toMatchObject({ message: 'token is invalidated' });
      const fillers = (await models.sessions.find({ user_id: id }, { _id: 1 }).sort({ last_used_at: 1 }).limit(1).lean()).map(
        ({ _id }) => _id,
      );
      expect(fillers).toEqual(['filler 6']);
    } finally {
      await other.close();
    }
  });

  it('are listed one list at a time, users by turns, and so are their keys and app passwords: of one user the store has one at a time to read', async () => {
    const { auth } = replica;
    const id = await makeUser({ username: 'lister' });
    const { token } = await auth.login({ username: 'lister', password: 'password of lister', address: address() });
    const { identity } = await replica.callers.establish(token);
    const all = { page: 1, per_page: 0 };
    const listKeys = (_: object, options: object) => auth.listSshKeys(all, options);
    const listAppPasswords = (_: object, options: object) => auth.listAppPasswords(all, options);
    for (const list of [auth.listSessions, listKeys, listAppPasswords]) {
      const answered: number[] = [];
      const asked = (of: number, options: object) => list({}, options).then(() => answered.push(of));
      await Promise.all([...Array.from({ length: 10 }, () => asked(1, replica.as())), asked(id, replica.as(identity))]);
      expect(answered.indexOf(id)).toBeLessThan(3);
    }
  });
});

describe('a logout', () => {
  it("ends the caller's session, no other one, and may be repeated", async () => {
    const logIn = async () => (await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: address() })).token;
    const [ended, kept] = [await logIn(), await logIn()];
    const { identity } = await replica.callers.establish(ended);
    const first = await replica.auth.logout({}, replica.as(identity));
    const second = await replica.auth.logout({}, replica.as(identity));
    expect(second.revision).toBeGreaterThan(first.revision);
    await expect(replica.callers.establish(ended)).rejects.toMatchObject({ message: 'token is invalidated' });
    await replica.callers.establish(kept);
  });

  it('with the permanent token changes nothing', async () => {
    const { token } = await replica.auth.getPermanentToken({}, replica.as());
    const { identity } = await replica.callers.establish(token);
    const { revision } = await replica.auth.logout({}, replica.as(identity));
    expect((await replica.auth.logout({}, replica.as(identity))).revision).toBe(revision);
    await replica.callers.establish(token);
  });

  it('is for callers with an identity', async () => {
    await expect(replica.auth.logout({})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
