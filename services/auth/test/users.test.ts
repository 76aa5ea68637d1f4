import { accountsChanged, readQuotaRevision } from '@wharf/models';
import type { User } from '@wharf/proto/auth';
import { ROLE } from '@wharf/rights';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, openPlace, type Place, type Replica } from './replica.ts';

let place: Place;
let one: Replica;
let two: Replica;
let last = 0;

const newName = () => `user${++last}`;
const create = (user: Partial<User>, replica = one) => replica.auth.createUser({ user: { base_path: '/', ...user } }, replica.as());
const update = (user: Partial<User>, replica = one) => replica.auth.updateUser({ user: { base_path: '/', ...user } }, replica.as());
const get = async (id: number) => (await one.auth.getUser({ id }, one.as())).user;
const logIn = async (username: string, password: string) =>
  (await one.auth.login({ username, password, address: `203.0.113.${++last % 250}` })).token;
const sessionsOf = (id: number) => one.models.sessions.countDocuments({ user_id: id });
const refused = (code: string, message?: string) => (message === undefined ? { code } : { code, message });

beforeAll(async () => {
  place = await openPlace();
  one = await place.open();
  two = await place.open();
});
afterAll(() => place?.close());

describe('creating a user', () => {
  it('stores what was given, cleaned, and answers neither password nor hash', async () => {
    const username = newName();
    const { id } = await create({
      username: ` ${username} `,
      password: 'x',
      base_path: 'team//a/',
      permission: 0x1ff,
      sso_id: 'sso',
      disabled: true,
      allow_ldap: true,
    });
    expect(await get(id)).toEqual({
      id,
      username,
      password: '',
      base_path: '/team/a',
      role: 0,
      disabled: true,
      permission: 0x1ff,
      sso_id: 'sso',
      otp: false,
      allow_ldap: true,
      quota_bytes: 0,
      chose_name: false,
    });
    expect((await one.models.users.findById(id).lean())?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it.each([1, 2, 3, -1])('of role %i is refused', async (role) => {
    await expect(create({ username: newName(), role })).rejects.toMatchObject(
      refused('INVALID_ARGUMENT', 'admin or guest user can not be created'),
    );
  });

  it.each([
    [{ username: '' }, 'INVALID_ARGUMENT'],
    [{ username: 'a/b' }, 'INVALID_ARGUMENT'],
    [{ permission: -1 }, 'INVALID_ARGUMENT'],
    [{ permission: 65_536 }, 'INVALID_ARGUMENT'],
    [{ base_path: '/a/../..' }, 'UNSAFE_PATH'],
    [{ password: 'x'.repeat(1_025) }, 'INVALID_ARGUMENT'],
    [{ sso_id: 'x'.repeat(256) }, 'INVALID_ARGUMENT'],
  ])('with %j is refused and takes no name', async (fields, code) => {
    const username = newName();
    await expect(create({ username, ...fields })).rejects.toMatchObject({ code });
    await create({ username });
  });

  it('without a user in the request is refused', async () => {
    await expect(one.auth.createUser({}, one.as())).rejects.toMatchObject(refused('INVALID_ARGUMENT', 'user is required'));
  });

  it.each<[string, (name: string) => string]>([
    ['taken', (name) => name],
    ['taken in other letters', (name) => name.toUpperCase()],
    ['taken but for wide letters', (name) => name.replace('u', '\uff55')],
    ['taken but for spaces around it', (name) => ` ${name} `],
  ])('under a name that is %s is refused', async (_, write) => {
    const username = newName();
    await create({ username });
    await expect(create({ username: write(username) })).rejects.toMatchObject({
      code: 'RECORD_EXISTS',
      message: expect.stringMatching(/user with the name .* already exists/),
    });
  });

  it('of many side by side with one name on two replicas, one wins', async () => {
    const username = newName();
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => create({ username }, i % 2 ? one : two)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason.code).toBe('RECORD_EXISTS');
  });

  it('ids rise and are not reused', async () => {
    const { id } = await create({ username: newName() });
    await one.auth.deleteUser({ id }, one.as());
    expect((await create({ username: newName() }, two)).id).toBeGreaterThan(id);
  });
});

describe('updating a user', () => {
  it('replaces every field, and an empty password keeps hash, time and sessions', async () => {
    const username = newName();
    const { id } = await create({ username, password: 'x', permission: 5, sso_id: 'sso', allow_ldap: true });
    await one.models.users.updateOne({ _id: id }, { $set: { otp_secret: 'sealed' } });
    const before = await one.models.users.findById(id).lean();
    await one.models.users.updateOne({ _id: id }, { $set: { otp_secret: '' } });
    const token = await logIn(username, 'x');
    await one.models.users.updateOne({ _id: id }, { $set: { otp_secret: 'sealed' } });
    await update({ id, username, base_path: '/b' });
    expect(await one.models.users.findById(id).lean()).toEqual({
      ...before,
      base_path: '/b',
      permission: 0,
      sso_id: '',
      allow_ldap: false,
    });
    await one.callers.establish(token);
  });

  it('changes the quota where one is given, and keeps it for clients that know of none', async () => {
    const username = newName();
    const { id } = await create({ username, quota_bytes: 5_000_000_000 });
    await update({ id, username });
    expect(await get(id)).toMatchObject({ quota_bytes: 5_000_000_000 });
    await update({ id, username, quota_bytes: 0 });
    expect(await get(id)).toMatchObject({ quota_bytes: 0 });
    await expect(update({ id, username, quota_bytes: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each<[string, (id: number, username: string) => Promise<unknown>]>([
    ['another password', (id, username) => update({ id, username, password: 'y' })],
    ['another name', (id) => update({ id, username: newName() })],
    ['the same name in other letters', (id, username) => update({ id, username: username.toUpperCase() })],
    ['disabling', (id, username) => update({ id, username, disabled: true })],
    ['deletion', (id) => one.auth.deleteUser({ id }, one.as())],
  ])("%s ends all of the user's sessions and nobody else's", async (_, change) => {
    const [username, other] = [newName(), newName()];
    const { id } = await create({ username, password: 'x' });
    await create({ username: other, password: 'x' });
    const tokens = [await logIn(username, 'x'), await logIn(username, 'x')];
    const kept = await logIn(other, 'x');
    await change(id, username);
    for (const token of tokens) await expect(one.callers.establish(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await sessionsOf(id)).toBe(0);
    await one.callers.establish(kept);
  });

  it('a session does not come back with the name or with enabling', async () => {
    const username = newName();
    const { id } = await create({ username, password: 'x' });
    const token = await logIn(username, 'x');
    await update({ id, username, disabled: true });
    await update({ id, username });
    await expect(one.callers.establish(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('the time of the password rises with each change, however quick, on whichever replica', async () => {
    const username = newName();
    const { id } = await create({ username, password: 'x' });
    const time = async () => (await one.models.users.findById(id).lean())?.pwd_ts ?? 0;
    const made = await time();
    await Promise.all(Array.from({ length: 4 }, (_, i) => update({ id, username, password: `password ${i}` }, i % 2 ? one : two)));
    expect(await time()).toBeGreaterThanOrEqual(made + 4);
    for (let i = 0; i < 3; i += 1) {
      const before = await time();
      await update({ id, username, password: `later ${i}` }, i % 2 ? one : two);
      expect(await time()).toBeGreaterThan(before);
    }
    await logIn(username, 'later 2');
  });

  it.each([
    [{ role: 2 }, 'role can not be changed'],
    [{ role: 1 }, 'role can not be changed'],
  ])('with %j is refused', async (fields, message) => {
    const username = newName();
    const { id } = await create({ username });
    await expect(update({ id, username, ...fields })).rejects.toMatchObject(refused('INVALID_ARGUMENT', message));
  });

  it('the admin stays an admin, enabled, with every permission', async () => {
    const admin = { id: 1, username: 'admin', role: ROLE.admin };
    await expect(update({ ...admin, disabled: true })).rejects.toMatchObject(refused('INVALID_ARGUMENT', 'admin user can not be disabled'));
    await expect(update({ ...admin, role: 0 })).rejects.toMatchObject(refused('INVALID_ARGUMENT', 'role can not be changed'));
    await update({ ...admin, permission: 1 });
    expect(await get(1)).toMatchObject({ permission: 0xffff, disabled: false, role: 2 });
  });

  it('the guest can be enabled and given permissions', async () => {
    await expect(one.callers.establish('')).rejects.toMatchObject({ message: 'Guest user is disabled, login please' });
    await update({ id: 2, username: 'guest', role: ROLE.guest, permission: 256 });
    expect((await one.callers.establish('')).identity).toMatchObject({ id: 2, role: 1, permission: 256 });
    await update({ id: 2, username: 'guest', role: ROLE.guest, disabled: true });
  });

  it('to a name that is taken is refused', async () => {
    const [username, taken] = [newName(), newName()];
    const { id } = await create({ username });
    await create({ username: taken });
    await expect(update({ id, username: taken })).rejects.toMatchObject({ code: 'RECORD_EXISTS' });
    expect((await get(id))?.username).toBe(username);
  });

  it('of an unknown id is refused', async () => {
    const message = 'failed get old user: record not found';
    await expect(update({ id: 999_999, username: newName() })).rejects.toMatchObject(refused('RECORD_NOT_FOUND', message));
    await expect(get(999_999)).rejects.toMatchObject(refused('RECORD_NOT_FOUND', message));
  });
});

describe('deleting a user', () => {
  it.each([1, 2])('the admin and the guest stay (%i)', async (id) => {
    await expect(one.auth.deleteUser({ id }, one.as())).rejects.toMatchObject(
      refused('FAILED_PRECONDITION', 'cannot delete admin or guest'),
    );
  });

  it('twice is refused', async () => {
    const { id } = await create({ username: newName() });
    await one.auth.deleteUser({ id }, one.as());
    await expect(one.auth.deleteUser({ id }, one.as())).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });
});

describe('a user who is stored oddly', () => {
  it.each([{ pwd_ts: null }, { pwd_ts: 'x' }, { base_path: null }, { disabled: 'x' }, { otp_recovery: null }, { otp_pending: 7 }])(
    'is changed, let in and deleted by the admin: %j',
    async (damage) => {
      const user = { username: newName(), password: 'secret-pw', base_path: '/' };
      const { id } = await create(user);
      await one.models.users.collection.updateOne({ _id: id } as object, { $set: damage });
      await one.auth.updateUser({ user: { ...user, id, disabled: false } }, one.as());
      expect((await one.auth.getUser({ id }, one.as())).user).toMatchObject({ id, disabled: false });
      const { token } = await one.auth.login({ username: user.username, password: user.password, address: '192.0.2.9' });
      expect((await one.callers.establish(token)).identity).toMatchObject({ id });
      await one.models.users.collection.updateOne({ _id: id } as object, { $set: damage });
      await one.auth.deleteUser({ id }, one.as());
    },
  );

  it('is not let into all of the tree by a save that says no other base path than the one that cannot be read', async () => {
    const user = { username: newName(), password: 'secret-pw', base_path: '/own' };
    const { id } = await create(user);
    await one.models.users.collection.updateOne({ _id: id } as object, { $set: { base_path: null } });
    const { user: shown } = await one.auth.getUser({ id }, one.as());
    const enabled = { ...user, id, base_path: shown?.base_path ?? '', disabled: false };
    await expect(one.auth.updateUser({ user: enabled }, one.as())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await one.auth.getUser({ id }, one.as())).user).toMatchObject({ base_path: '', disabled: true });
  });

  it('is asked for a second factor that nobody has, where nobody knows whether there was one, until the admin switches it off', async () => {
    const user = { username: newName(), password: 'secret-pw', base_path: '/' };
    const { id } = await create(user);
    await one.models.users.collection.updateOne({ _id: id } as object, { $set: { otp_secret: null } });
    const logIn = (otp_code: string) =>
      one.auth.login({ username: user.username, password: user.password, otp_code, address: '192.0.2.9' });
    await expect(logIn('')).rejects.toMatchObject({ code: 'OTP_REQUIRED' });
    for (const code of ['123456', 'aaaa-bbbb-cccc']) await expect(logIn(code)).rejects.toBeInstanceOf(Error);
    await one.auth.updateUser({ user: { ...user, id } }, one.as());
    expect((await one.auth.getUser({ id }, one.as())).user).toMatchObject({ otp: true, disabled: false });
    await one.auth.cancelOtp({ id }, one.as());
    await logIn('');
  });
});

describe('listing users', () => {
  it('shows one that is stored oddly, disabled where nobody knows what they may', async () => {
    const { id } = await create({ username: newName(), password: 'secret-pw' });
    const shownWith = async (damage: Record<string, unknown>) => {
      const before = await one.models.users.findById(id).lean();
      await one.models.users.collection.updateOne({ _id: id } as object, { $set: damage });
      const { content } = await one.auth.listUsers({ page: 0, per_page: 0 }, one.as());
      await one.models.users.collection.replaceOne({ _id: id } as object, before as object);
      return content.find((each) => each.id === id);
    };
    expect(await shownWith({ username: null })).toMatchObject({ username: '', disabled: false });
    expect(await shownWith({ permission: 'x' })).toMatchObject({ permission: 0, disabled: false });
    for (const damage of [{ base_path: null }, { role: 'x' }, { disabled: null }])
      expect(await shownWith(damage)).toMatchObject({ disabled: true });
  });

  it('pages by id; under 1 means the first page and all of them; no page is too far', async () => {
    const list = (page: number, per_page: number) => one.auth.listUsers({ page, per_page }, one.as());
    const all = await list(0, 0);
    const ids = all.content.map(({ id }) => id);
    expect(ids.slice(0, 2)).toEqual([1, 2]);
    expect([...ids].sort((a, b) => a - b)).toEqual(ids);
    expect(all.total).toBe(ids.length);
    expect(all.content.every(({ password }) => password === '')).toBe(true);
    expect((await list(-5, -1)).content).toHaveLength(ids.length);
    expect((await list(0, 2)).content.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect((await list(2, 2)).content.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    expect(await list(2_147_483_647, 2_147_483_647)).toEqual({ content: [], total: ids.length });
  });
});

describe('every change', () => {
  it('raises the revision, which is told on the bus and answered', async () => {
    const revisions: number[] = [];
    one.kit.bus.subscribe(accountsChanged, ({ revision }) => revisions.push(revision));
    const username = newName();
    const created = await create({ username });
    const updated = await update({ id: created.id, username, permission: 1 });
    const deleted = await one.auth.deleteUser({ id: created.id }, one.as());
    expect(revisions).toEqual([created.revision, updated.revision, deleted.revision]);
    expect(updated.revision).toBeGreaterThan(created.revision);
    expect(deleted.revision).toBeGreaterThan(updated.revision);
  });
});

describe('who may administrate', () => {
  it.each([
    ['nobody', undefined],
    ['the guest', { ...ADMIN, id: 2, role: ROLE.guest }],
    ['a user with all permissions', { ...ADMIN, id: 3, role: ROLE.general }],
  ] as const)('%s may not', async (_, identity) => {
    const options = identity ? one.as(identity) : {};
    const { auth } = one;
    const calls = [
      auth.listUsers({}, options),
      auth.getUser({ id: 1 }, options),
      auth.createUser({ user: { username: 'intruder' } }, options),
      auth.updateUser({ user: { id: 1 } }, options),
      auth.deleteUser({ id: 1 }, options),
      auth.getPermanentToken({}, options),
      auth.setPermanentToken({ token: 'x'.repeat(20) }, options),
      auth.resetPermanentToken({}, options),
    ];
    const reason = identity
      ? { code: 'PERMISSION_DENIED', message: 'You are not an admin' }
      : { code: 'UNAUTHENTICATED', message: 'this call needs an identity' };
    for (const result of await Promise.allSettled(calls)) expect(result).toMatchObject({ status: 'rejected', reason });
  });
});

it('what changes a quota is counted by itself, and nothing else is', async () => {
  const username = newName();
  let before = await readQuotaRevision(one.models);
  const isCounted = async () => {
    const after = await readQuotaRevision(one.models);
    const isMore = after > before;
    before = after;
    return isMore;
  };
  const { id } = await create({ username });
  expect(await isCounted()).toBe(false);
  await update({ id, username, permission: 1 });
  expect(await isCounted()).toBe(false);
  await update({ id, username, quota_bytes: 1_000 });
  expect(await isCounted()).toBe(true);
  await update({ id, username, quota_bytes: 1_000, base_path: '/elsewhere' });
  expect(await isCounted()).toBe(true);
  await update({ id, username });
  expect(await isCounted()).toBe(true);
  await one.auth.deleteUser({ id }, one.as());
  expect(await isCounted()).toBe(true);
  await create({ username: newName(), quota_bytes: 5 });
  expect(await isCounted()).toBe(true);
});
