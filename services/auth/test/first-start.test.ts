import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ADMIN_PASSWORD, openPlace, type Place, type Replica } from './replica.ts';

let place: Place;
let replicas: Replica[];

beforeAll(async () => {
  place = await openPlace();
  replicas = await Promise.all([1, 2, 3, 4].map(() => place.open()));
});
afterAll(() => place?.close());

const first = (): Replica => {
  const [replica] = replicas;
  if (!replica) throw new Error('no replica');
  return replica;
};

describe('the first start, of four replicas at once', () => {
  it('makes one admin and one guest, and both are as they must be', async () => {
    const { content, total } = await first().auth.listUsers({}, first().as());
    const common = { password: '', base_path: '/', sso_id: '', otp: false, allow_ldap: true, quota_bytes: 0, chose_name: false };
    expect(total).toBe(2);
    expect(content).toEqual([
      { ...common, id: 1, username: 'admin', role: 2, disabled: false, permission: 65_535 },
      { ...common, id: 2, username: 'guest', role: 1, disabled: true, permission: 0 },
    ]);
    expect((await first().models.users.findById(2).lean())?.password_hash).toBe('');
    for (const replica of replicas) await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: '192.0.2.1' });
  });

  it('makes one permanent token, which is sealed in the store', async () => {
    const tokens = await Promise.all(replicas.map(async (replica) => (await replica.auth.getPermanentToken({}, replica.as())).token));
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toMatch(/^wharf-[0-9a-f-]{36}[A-Za-z0-9]{64}$/);
    expect(JSON.stringify(await first().models.permanentTokens.find().lean())).not.toContain(tokens[0]);
  });

  it('makes the unique index of names', async () => {
    const indexes = await first().models.users.collection.indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { username_key: 1 }, unique: true }));
  });

  it('the next user has the id 3', async () => {
    expect((await first().auth.createUser({ user: { username: 'third', base_path: '/' } }, first().as())).id).toBe(3);
  });
});

describe('the permanent token', () => {
  it('is the admin, and once replaced the old one is nobody', async () => {
    const replica = first();
    const old = (await replica.auth.getPermanentToken({}, replica.as())).token;
    expect((await replica.callers.establish(old)).identity).toMatchObject({ id: 1, role: 2, sessionId: '' });
    const { token, revision } = await replica.auth.resetPermanentToken({}, replica.as());
    expect((await replica.auth.getPermanentToken({}, replica.as())).token).toBe(token);
    await expect(replica.callers.establish(old)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await replica.callers.establish(token);
    const chosen = 'a-token-of-16-or-more';
    expect((await replica.auth.setPermanentToken({ token: chosen }, replica.as())).revision).toBeGreaterThan(revision);
    await replica.callers.establish(chosen);
    await expect(replica.auth.setPermanentToken({ token: 'short' }, replica.as())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await replica.auth.getPermanentToken({}, replica.as())).token).toBe(chosen);
  });
});

describe('a later start', () => {
  it('changes no account, keeps logins and raises the revision', async () => {
    const before = first();
    const { token } = await before.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: '192.0.2.1' });
    await before.auth.updateUser({ user: { id: 2, username: 'visitor', role: 1, base_path: '/v', password: 'x' } }, before.as());
    const users = await before.models.users.find().sort({ _id: 1 }).lean();
    const permanent = (await before.auth.getPermanentToken({}, before.as())).token;
    const revision = (await before.models.authCounters.findById('revision').lean())?.value ?? 0;
    const after = await place.open();
    try {
      expect(await after.models.users.find().sort({ _id: 1 }).lean()).toEqual(users);
      expect((await after.auth.getPermanentToken({}, after.as())).token).toBe(permanent);
      expect((await after.callers.establish(token)).identity.username).toBe('admin');
      expect((await after.models.authCounters.findById('revision').lean())?.value).toBeGreaterThan(revision);
    } finally {
      await after.close();
    }
  });
});

describe('a start with --reset-admin-password', () => {
  it.each([
    { disabled: true },
    { disabled: null },
    { role: 'x' },
    { base_path: null },
    { username: null },
    { username_key: null },
    { pwd_ts: null },
    { pwd_ts: Number.POSITIVE_INFINITY },
    { pwd_ts: [5] },
    { otp_secret: 7 },
    { otp_recovery: null },
  ])('lets the admin in, whatever is stored of the account: %j', async (damage) => {
    const { models } = first();
    await models.users.collection.updateOne({ _id: 1 } as object, { $set: damage });
    let told = '';
    const written = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      told += text;
      return true;
    });
    const replica = await place.open({ resetAdminPassword: true }).finally(() => written.mockRestore());
    const password = /the password (\S+)/.exec(told)?.[1] ?? '';
    const { token } = await replica.auth.login({ username: 'admin', password, address: '192.0.2.1' });
    expect((await replica.callers.establish(token)).identity).toMatchObject({ id: 1, role: 2, basePath: '/' });
    await replica.close();
  });
});
