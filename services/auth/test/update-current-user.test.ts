import { ROLE } from '@wharf/rights';
import { createLoginTokens } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, ADMIN_PASSWORD, openPlace, type Place, type Replica } from './replica.ts';

let place: Place;
let replica: Replica;
let last = 0;

const makeUser = async () => {
  const username = `user${++last}`;
  const user = { username, password: 'x', base_path: '/base', permission: 5, sso_id: 'sso' };
  const { id } = await replica.auth.createUser({ user }, replica.as());
  const options = replica.as({ ...ADMIN, id, username, role: ROLE.general });
  const logIn = async (name = username, password = 'x') =>
    (await replica.auth.login({ username: name, password, address: `203.0.113.${++last % 250}` })).token;
  const get = async () => (await replica.auth.getUser({ id }, replica.as())).user;
  return { id, username, options, logIn, get };
};

beforeAll(async () => {
  place = await openPlace();
  replica = await place.open();
});
afterAll(() => place?.close());

describe('changing oneself', () => {
  it('changes name, password and single-sign-on id and nothing else, and ends the sessions', async () => {
    const user = await makeUser();
    const before = await user.get();
    const token = await user.logIn();
    await replica.auth.updateCurrentUser({ username: `new ${user.username}`, password: 'y', sso_id: 'other' }, user.options);
    expect(await user.get()).toEqual({ ...before, username: `new ${user.username}`, sso_id: 'other', chose_name: true });
    await expect(replica.callers.establish(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await user.logIn(`new ${user.username}`, 'y');
    await expect(user.logIn(`new ${user.username}`, 'x')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('with an empty password keeps it, and the sessions; an empty single-sign-on id clears it', async () => {
    const user = await makeUser();
    const token = await user.logIn();
    const { revision } = await replica.auth.updateCurrentUser({ username: user.username }, user.options);
    expect(revision).toBeGreaterThan(0);
    expect(await user.get()).toMatchObject({ sso_id: '', permission: 5 });
    await replica.callers.establish(token);
    await user.logIn();
  });

  it('does not undo what the admin changes at the same time', async () => {
    const user = await makeUser();
    const own = Array.from({ length: 10 }, (_, i) =>
      replica.auth.updateCurrentUser({ username: user.username, sso_id: `${i}` }, user.options),
    );
    const demote = replica.auth.updateUser(
      { user: { id: user.id, username: user.username, base_path: '/base', permission: 0 } },
      replica.as(),
    );
    await Promise.all([...own, demote]);
    expect(await user.get()).toMatchObject({ permission: 0 });
  });

  it.each(['gives another password', 'disables the user', 'ends the login', 'removes the user'])(
    'does nothing when it has waited for its hash while somebody %s',
    async (what) => {
      const user = await makeUser();
      const { sid } = createLoginTokens(replica.kit.keys.jwt, replica.kit.clock).verify(await user.logIn());
      const { username } = user;
      const own = replica.as({ ...ADMIN, id: user.id, username, role: ROLE.general, sessionId: sid });
      // The hashes of one user are made one after the other.
      const waiting = Array.from({ length: 10 }, (_, i) =>
        replica.auth.updateCurrentUser({ username, password: `of the thief ${i}` }, own),
      );
      const settled = Promise.allSettled(waiting);
      const fields = { id: user.id, username, base_path: '/base', permission: 5 };
      if (what === 'gives another password') await replica.auth.updateUser({ user: { ...fields, password: 'y' } }, replica.as());
      if (what === 'disables the user') await replica.auth.updateUser({ user: { ...fields, disabled: true } }, replica.as());
      if (what === 'ends the login') await replica.auth.revokeSession({ id: sid }, own);
      if (what === 'removes the user') await replica.auth.deleteUser({ id: user.id }, replica.as());
      const before = await replica.models.users.findById(user.id).lean();
      const outcomes = await settled;
      expect(await replica.models.users.findById(user.id).lean()).toEqual(before);
      expect(outcomes.at(-1)?.status).toBe('rejected');
    },
  );

  it('the admin makes and changes nobody whose hash was waited for while their login ended', async () => {
    const { token } = await replica.auth.login({ username: 'admin', password: ADMIN_PASSWORD, address: '198.51.100.1' });
    const { sid: sessionId } = createLoginTokens(replica.kit.keys.jwt, replica.kit.clock).verify(token);
    const ended = replica.as({ ...ADMIN, sessionId });
    const user = await makeUser();
    const fields = { id: user.id, username: user.username, base_path: '/', permission: 0xff };
    const waiting = Promise.allSettled([
      ...Array.from({ length: 5 }, (_, i) =>
        replica.auth.createUser({ user: { username: `late${i}`, password: 'z', base_path: '/' } }, ended),
      ),
      replica.auth.updateUser({ user: { ...fields, password: 'z' } }, ended),
    ]);
    await replica.auth.logout({}, ended);
    const before = await replica.models.users.find().lean();
    const outcomes = await waiting;
    expect(await replica.models.users.find().lean()).toEqual(before);
    expect(outcomes.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'UNAUTHENTICATED' } });
  });

  it.each([
    [{ username: '' }, 'INVALID_ARGUMENT'],
    [{ username: 'a/b' }, 'INVALID_ARGUMENT'],
    [{ username: 'ADMIN' }, 'RECORD_EXISTS'],
    [{ username: 'fine', password: 'x'.repeat(1_025) }, 'INVALID_ARGUMENT'],
    [{ username: 'fine', sso_id: 'x'.repeat(256) }, 'INVALID_ARGUMENT'],
  ])('to %j is refused', async (fields, code) => {
    const user = await makeUser();
    await expect(replica.auth.updateCurrentUser(fields, user.options)).rejects.toMatchObject({ code });
    await user.logIn();
  });

  it('is not for the guest', async () => {
    const guest = replica.as({ ...ADMIN, id: 2, username: 'guest', role: ROLE.guest });
    await expect(replica.auth.updateCurrentUser({ username: 'visitor' }, guest)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Guest user can not update profile',
    });
  });
});
