import { ROLE } from '@wharf/rights';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, openPlace, type Place, type Replica } from './replica.ts';

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
    expect(await user.get()).toEqual({ ...before, username: `new ${user.username}`, sso_id: 'other' });
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
