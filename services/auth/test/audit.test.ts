import { ROLE } from '@wharf/rights';
import { outgoingCall } from '@wharf/service-kit';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AuditAction } from '../src/domain/audit.ts';
import { createAuditStore } from '../src/store/audit.ts';
import { ADMIN, ADMIN_PASSWORD, alignToStep, openPlace, type Place, type Replica } from './replica.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f';
const FROM = '192.0.2.77';

let place: Place;
let replica: Replica;

const from = (identity = ADMIN) =>
  outgoingCall(replica.kit.tokens, { identity, requestId: 'test', revisions: { auth: 0, admin: 0 }, address: FROM });
const list = (filter: Parameters<Replica['auth']['listAudit']>[0] = {}) => replica.auth.listAudit(filter, replica.as());

beforeAll(async () => {
  place = await openPlace();
  replica = await place.open();
});
afterAll(() => place?.close());

describe('the audit trail', () => {
  it('tells who did what, from where and when, and no secret', async () => {
    const { auth } = replica;
    const username = 'somebody';
    const password = 'a canary of a password';
    const { id } = await auth.createUser({ user: { username, password, base_path: '/', permission: 5 } }, from());
    const identity = { ...ADMIN, id, username, role: ROLE.general };
    const me = from(identity);
    await auth.login({ username, password, address: FROM });
    await expect(auth.login({ username, password: 'wrong', address: FROM })).rejects.toThrow();
    await expect(auth.login({ username: 'nobody', password: 'wrong', address: FROM })).rejects.toThrow();
    alignToStep(replica);
    const { secret } = await auth.generateOtp({}, me);
    const code = (steps: number) => generateSync({ secret, epoch: Math.floor(replica.kit.clock() / 1000) + 30 * steps });
    await auth.verifyOtp({ secret, code: code(-1) }, me);
    await expect(auth.login({ username, password, address: FROM })).rejects.toThrow();
    const { codes } = await auth.generateRecoveryCodes({ code: code(0) }, me);
    const { token } = await auth.login({ username, password, otp_code: codes[0] ?? '', address: FROM });
    const { identity: session } = await replica.callers.establish(token);
    await auth.addSshKey({ title: 'laptop', key: KEY }, me);
    const app = await auth.createAppPassword({ name: 'phone', protocols: ['webdav'] }, me);
    const credential = { username, password, protocol: 'webdav', address: FROM };
    await expect(auth.checkCredential(credential, replica.kit.ownCall())).rejects.toThrow();
    await auth.deleteAppPassword({ id: app.id }, me);
    await auth.logout({}, from(session));
    await auth.updateCurrentUser({ username, password: `${password} 2` }, me);
    await auth.updateUser({ user: { id, username, base_path: '/b', permission: 1 } }, from());
    await auth.cancelOtp({ id }, from());
    await auth.resetPermanentToken({}, from());
    await auth.deleteUser({ id }, from());

    const { content, total } = await list({ address: FROM });
    expect(total).toBe(content.length);
    const told = content.toReversed().map((entry) => [entry.action, entry.user_id, entry.username, entry.target, entry.detail]);
    expect(told).toEqual([
      ['user_created', 1, 'admin', 'user somebody', 'role 0, permission 5, enabled, base_path /, new password'],
      ['login', id, username, 'api', ''],
      ['login_failed', id, username, 'api', 'wrong name or password'],
      ['login_failed', 0, 'nobody', 'api', 'wrong name or password'],
      ['otp_enabled', id, username, '', ''],
      ['login_failed', id, username, 'api', 'no two-step code'],
      ['recovery_codes_made', id, username, '', ''],
      ['login', id, username, 'api', ''],
      ['ssh_key_added', id, username, 'laptop', ''],
      ['app_password_created', id, username, `app password ${app.id} phone`, 'webdav'],
      ['login_failed', id, username, 'webdav', 'wrong name or password'],
      ['app_password_deleted', id, username, `app password ${app.id}`, ''],
      ['logout', id, username, '', ''],
      ['profile_updated', id, username, 'user somebody', 'new password'],
      ['user_updated', 1, 'admin', 'user somebody', 'role 0, permission 1, enabled, base_path /b'],
      ['otp_cancelled', 1, 'admin', `user ${id}`, ''],
      ['permanent_token_changed', 1, 'admin', '', ''],
      ['user_deleted', 1, 'admin', `user ${id}`, ''],
    ]);
    const times = content.map(({ time }) => new Date(time).getTime());
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const text = JSON.stringify(content);
    for (const canary of [password, secret, ...codes, app.password, token]) expect(text).not.toContain(canary);
  });

  it('is read in pages and by action, user, address and time', async () => {
    for (let i = 0; i < 3; i += 1) {
      await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: `198.51.100.${i}` });
      replica.advance(1_000);
    }
    const logins = await list({ action: 'login', user_id: 1 });
    expect(logins.content.map(({ address }) => address)).toEqual(['198.51.100.2', '198.51.100.1', '198.51.100.0']);
    expect(logins.total).toBe(3);
    expect((await list({ action: 'login', user_id: 1, page: 2, per_page: 2 })).content).toEqual(logins.content.slice(2));
    expect((await list({ action: 'login', user_id: 1, page: 3, per_page: 2 })).content).toEqual([]);
    const [newest, middle, oldest] = logins.content.map(({ time }) => time);
    const between = await list({ user_id: 1, action: 'login', since: oldest ?? '', until: newest ?? '' });
    expect(between.content.map(({ time }) => time)).toEqual([middle, oldest]);
    await expect(list({ since: 'yesterday' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is read one list at a time, admins by turns', async () => {
    const answered: number[] = [];
    const ask = (id: number) => replica.auth.listAudit({ address: FROM }, replica.as({ ...ADMIN, id })).then(() => answered.push(id));
    await Promise.all([...Array.from({ length: 10 }, () => ask(1)), ask(2)]);
    expect(answered.indexOf(2)).toBeLessThan(3);
  });

  it('is for the admin', async () => {
    const user = replica.as({ ...ADMIN, id: 3, role: ROLE.general });
    await expect(replica.auth.listAudit({}, user)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(replica.auth.listAudit({})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('does not tell of refusals of calls, nor of the guest, and cuts what is too long', async () => {
    const before = (await list()).total;
    await expect(replica.auth.deleteUser({ id: 1 }, replica.as())).rejects.toThrow();
    await replica.auth.logout({}, replica.as({ ...ADMIN, id: 2, role: ROLE.guest }));
    expect((await list()).total).toBe(before);
    await expect(replica.auth.login({ username: 'x'.repeat(100_000), password: 'x', address: '198.51.100.9' })).rejects.toThrow();
    expect((await list({ address: '198.51.100.9' })).content[0]?.username).toBe('x'.repeat(256));
  });

  it('counts failures that repeat within an hour in one entry, also those side by side', async () => {
    const address = '198.51.100.20';
    replica.advance(3_600_000 - (replica.kit.clock() % 3_600_000));
    const fail = (username: string) => expect(replica.auth.login({ username, password: 'wrong', address })).rejects.toThrow();
    await Promise.all(Array.from({ length: 4 }, () => fail('admin')));
    await fail('ghost');
    const ofAddress = async () =>
      (await list({ address })).content.map(({ username, count, detail }) => [username, count, detail]).toSorted();
    const wrong = 'wrong name or password';
    expect(await ofAddress()).toEqual([
      ['admin', 4, wrong],
      ['ghost', 1, wrong],
    ]);
    replica.advance(3_600_000);
    await fail('admin');
    expect(await ofAddress()).toEqual([
      ['admin', 1, wrong],
      ['admin', 4, wrong],
      ['ghost', 1, wrong],
    ]);
    const [newest] = (await list({ address })).content;
    expect(newest?.last_time).toBe(newest?.time);
  });

  it('is kept by share: failures push out failures, a user their own of the same kind, and nobody what is known of others', async () => {
    const limits = { share: 20, total: 100_000, least: 5, lookEvery: 4 };
    const countOf = (userId: number, action: string) => replica.models.audit.countDocuments({ user_id: userId, action });
    const at = (i: number) => new Date(replica.kit.clock() + i);
    const entry = { username: '', address: '', target: '', detail: '' };
    const write = async (store: ReturnType<typeof createAuditStore>, userId: number, action: AuditAction, count: number) => {
      for (let i = 0; i < count; i += 1)
        await (action === 'login_failed' ? store.insertRepeated : store.insert)({ at: at(i), action, userId, ...entry, target: `${i}` });
    };
    const roomy = createAuditStore(replica.models, limits);
    await write(roomy, 71, 'user_updated', 10);
    for (const flood of [40, 80, 160]) {
      await write(roomy, 72, 'login', flood);
      await write(roomy, 0, 'login_failed', flood);
      for (const count of [await countOf(72, 'login'), await countOf(0, 'login_failed')]) {
        expect(count).toBeGreaterThanOrEqual(20);
        expect(count).toBeLessThan(24);
      }
    }
    expect(await countOf(71, 'user_updated')).toBe(10);
    // Full: what is written to shrinks, to no less than what everybody keeps.
    const full = createAuditStore(replica.models, { ...limits, total: 30 });
    const before = await countOf(0, 'login_failed');
    await write(full, 72, 'login', 40);
    const kept = await countOf(72, 'login');
    expect(kept).toBeGreaterThanOrEqual(5);
    expect(kept).toBeLessThan(9);
    expect([await countOf(71, 'user_updated'), await countOf(0, 'login_failed')]).toEqual([10, before]);
    const newest = (await replica.models.audit.find({ user_id: 72 }).sort({ _id: -1 }).limit(1).lean())[0];
    expect(newest?.target).toBe('39');
  });

  it('gives up what is too many in small steps, so that others have their turns at the store', async () => {
    const { audit } = replica.models;
    const entry = { username: '', address: '', target: '', detail: '' };
    const at = new Date(replica.kit.clock());
    const share = { action: 'login', user_id: 73 } as const;
    const records = Array.from({ length: 1_500 }, (_, i) => ({ _id: `1999 ${1_000_000 + i}`, at, ...share, ...entry, target: `${i}` }));
    await audit.insertMany(records);
    const removals = vi.spyOn(audit.collection, 'deleteMany');
    const store = createAuditStore(replica.models, { share: 100, total: 100_000, least: 5, lookEvery: 100 });
    await store.insert({ at, action: 'login', userId: 73, ...entry });
    const removed = await Promise.all(removals.mock.results.map(async ({ value }) => (await value).deletedCount));
    removals.mockRestore();
    expect(removed.reduce((sum, count) => sum + count, 0)).toBe(1_401);
    expect(Math.max(...removed)).toBeLessThanOrEqual(200);
    expect(await audit.countDocuments(share)).toBe(100);
    expect(await audit.findOne(share).sort({ _id: 1 }).lean()).toMatchObject({ target: '1401' });
  });

  it('is forgotten after half a year', async () => {
    const indexes = await replica.models.audit.collection.indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { at: 1 }, expireAfterSeconds: 180 * 86_400 }));
  });
});
