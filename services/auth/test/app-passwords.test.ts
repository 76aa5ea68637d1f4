import { ROLE } from '@wharf/rights';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, alignToStep, openPlace, type Place, type Replica } from './replica.ts';

const WRONG = { code: 'UNAUTHENTICATED', message: 'Invalid username or password' };
const DAY = 86_400_000;

let place: Place;
let one: Replica;
let two: Replica;
let last = 0;

const newAddress = () => `203.0.113.${++last % 250}`;
const makeUser = async () => {
  const username = `user${++last}`;
  const user = { username, password: 'own password', base_path: '/team', permission: 0x1ff };
  const { id } = await one.auth.createUser({ user }, one.as());
  const options = one.as({ ...ADMIN, id, username, role: ROLE.general });
  const create = (fields: object = {}, replica = one) =>
    replica.auth.createAppPassword({ name: 'phone', protocols: ['webdav'], ...fields }, options);
  const check = (password: string, protocol = 'webdav', replica = one, address = newAddress()) =>
    replica.auth.checkCredential({ username, password, protocol, address }, replica.kit.ownCall());
  return { id, username, options, create, check };
};

beforeAll(async () => {
  place = await openPlace();
  one = await place.open();
  two = await place.open();
});
afterAll(() => place?.close());

describe('an app password', () => {
  it('logs in to its protocols below its path, on every replica, however it is written', async () => {
    const user = await makeUser();
    const { id, password } = await user.create({ protocols: ['webdav', 'sftp', 'webdav'], path: 'photos//2024/', read_only: true });
    expect(password).toMatch(/^([a-z2-9]{5}-){4}[a-z2-9]{5}$/);
    const proven = {
      user_id: user.id,
      username: user.username,
      role: 0,
      permission: 0x1ff,
      base_path: '/team/photos/2024',
      read_only: true,
      app_password_id: id,
    };
    for (const replica of [one, two]) expect(await user.check(password, 'sftp', replica)).toEqual(proven);
    expect(await user.check(password.toUpperCase().replaceAll('-', ' '))).toEqual(proven);
    await expect(user.check(password, 'ftp')).rejects.toMatchObject(WRONG);
  });

  it('is one of a hundred, no more and no less where more are made at the same time', async () => {
    const user = await makeUser();
    const made = await Promise.allSettled(Array.from({ length: 120 }, (_, i) => user.create({}, i % 2 === 0 ? one : two)));
    const refused = made.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(20);
    for (const error of refused) expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED' });
    const { total } = await one.auth.listAppPasswords({ page: 1, per_page: 1 }, user.options);
    expect(total).toBe(made.length - refused.length);
  });

  it('is not a password of the API, nor of anybody else', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const { password } = await user.create();
    const login = { username: user.username, password, address: newAddress() };
    await expect(one.auth.login(login)).rejects.toMatchObject(WRONG);
    await expect(other.check(password)).rejects.toMatchObject(WRONG);
  });

  it('ends at its time, when it is deleted, and with its user; a disabled user is refused', async () => {
    const user = await makeUser();
    const soon = await user.create({ expires_time: new Date(one.kit.clock() + DAY).toISOString() });
    const { id, password } = await user.create();
    await user.check(soon.password);
    for (const replica of [one, two]) replica.advance(DAY);
    await expect(user.check(soon.password)).rejects.toMatchObject(WRONG);
    await user.check(password);
    const { username } = user;
    await one.auth.updateUser({ user: { id: user.id, username, disabled: true, base_path: '/' } }, one.as());
    await expect(user.check(password)).rejects.toMatchObject({ message: 'Current user is disabled, replace please' });
    await one.auth.updateUser({ user: { id: user.id, username, base_path: '/' } }, one.as());
    await one.auth.deleteAppPassword({ id }, user.options);
    await expect(user.check(password)).rejects.toMatchObject(WRONG);
    const third = await user.create();
    await one.auth.deleteUser({ id: user.id }, one.as());
    await expect(user.check(third.password)).rejects.toMatchObject(WRONG);
    expect(await one.models.appPasswords.countDocuments({ user_id: user.id })).toBe(0);
  });

  it('is shown once: neither the list, the store nor the log has it', async () => {
    const user = await makeUser();
    const { id, password } = await user.create({ name: ' laptop ', path: '/a' });
    await user.check(password);
    const list = await one.auth.listAppPasswords({}, user.options);
    expect(list).toEqual({
      total: 1,
      content: [
        {
          id,
          name: 'laptop',
          protocols: ['webdav'],
          read_only: false,
          path: '/a',
          created_time: expect.stringMatching(/Z$/),
          expires_time: '',
          last_used_time: expect.stringMatching(/Z$/),
        },
      ],
    });
    const plain = password.replaceAll('-', '');
    const records = JSON.stringify(await one.models.appPasswords.find({ user_id: user.id }).lean());
    for (const text of [password, plain]) for (const where of [records, one.log()]) expect(where).not.toContain(text);
  });

  it.each([
    [{ name: ' ' }, 'INVALID_ARGUMENT'],
    [{ name: 'x'.repeat(256) }, 'INVALID_ARGUMENT'],
    [{ protocols: [] }, 'INVALID_ARGUMENT'],
    [{ protocols: ['webdav', 'http'] }, 'INVALID_ARGUMENT'],
    [{ path: '/a/../..' }, 'UNSAFE_PATH'],
    [{ expires_time: 'tomorrow' }, 'INVALID_ARGUMENT'],
    [{ expires_time: '2001-01-01T00:00:00Z' }, 'INVALID_ARGUMENT'],
  ])('with %j is refused', async (fields, code) => {
    const user = await makeUser();
    await expect(user.create(fields)).rejects.toMatchObject({ code });
    expect((await one.auth.listAppPasswords({}, user.options)).total).toBe(0);
  });

  it('of somebody else is not to be deleted or seen, and the guest has none', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const { id } = await user.create();
    await expect(one.auth.deleteAppPassword({ id }, other.options)).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
    expect(await one.auth.listAppPasswords({}, other.options)).toEqual({ content: [], total: 0 });
    const guest = one.as({ ...ADMIN, id: 2, role: ROLE.guest });
    for (const call of [
      () => one.auth.listAppPasswords({}, guest),
      () => one.auth.createAppPassword({ name: 'x', protocols: ['webdav'] }, guest),
      () => one.auth.deleteAppPassword({ id }, guest),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

describe("the account's own password in other protocols", () => {
  it('is taken while two-step verification is off, and refused like a wrong one while it is on', async () => {
    const user = await makeUser();
    const app = await user.create();
    expect(await user.check('own password')).toMatchObject({ base_path: '/team', read_only: false, app_password_id: 0 });
    await expect(user.check('wrong')).rejects.toMatchObject(WRONG);
    alignToStep(one, two);
    const { secret } = await one.auth.generateOtp({}, user.options);
    const code = (steps: number) => generateSync({ secret, epoch: Math.floor(one.kit.clock() / 1000) + 30 * steps });
    await one.auth.verifyOtp({ secret, code: code(-1) }, user.options);
    for (const password of ['own password', `own password${code(0)}`]) await expect(user.check(password)).rejects.toMatchObject(WRONG);
    await user.check(app.password);
  });

  it('is refused to unknown names and the guest, at the price of one verification', async () => {
    for (const username of ['nobody', 'guest', '']) {
      const before = await one.verifications();
      const credential = { username, password: 'guest', protocol: 'webdav', address: newAddress() };
      await expect(one.auth.checkCredential(credential, one.kit.ownCall())).rejects.toMatchObject(WRONG);
      expect((await one.verifications()) - before).toBe(1);
    }
  });

  it('fails together with logins: five failures lock the address for both', async () => {
    const user = await makeUser();
    const address = newAddress();
    for (const replica of [one, two, one]) await expect(user.check('wrong', 'ftp', replica, address)).rejects.toMatchObject(WRONG);
    const login = { username: user.username, password: 'wrong', address };
    for (let i = 0; i < 2; i += 1) await expect(one.auth.login(login)).rejects.toMatchObject(WRONG);
    await expect(user.check('own password', 'ftp', two, address)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await expect(two.auth.login({ ...login, password: 'own password' })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('is checked for our services only', async () => {
    const user = await makeUser();
    const credential = { username: user.username, password: 'own password', protocol: 'webdav', address: newAddress() };
    for (const options of [user.options, one.as()])
      await expect(one.auth.checkCredential(credential, options)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(one.auth.checkCredential(credential, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    const tooLong = { ...credential, password: 'x'.repeat(1_025) };
    await expect(one.auth.checkCredential(tooLong, one.kit.ownCall())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
