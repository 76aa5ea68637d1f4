import { ROLE } from '@wharf/rights';
import { describe, expect, it } from 'vitest';
import { createAccounts } from './accounts.ts';
import { ANN } from './testing/ann.ts';
import type { User } from './user.ts';

const USER = ANN;
const ID = USER.id;
const AWAY = new Error('the store is away');

/** @param awayAt the write, counted from 1, at which the store goes away; it is back for the next call */
function setUp(awayAt: number) {
  const users = new Map([[ID, USER]]);
  const kept = new Set(['sessions', 'belongings']);
  let writes = 0;
  const write = <Result>(change: () => Result): Promise<Result> => {
    writes += 1;
    return writes === awayAt ? Promise.reject(AWAY) : Promise.resolve(change());
  };
  const replace = (_before: User, after: User) => write(() => users.set(after.id, after).size > 0);
  const accounts = createAccounts({
    users: {
      find: async (id) => users.get(id),
      list: async () => [...users.values()],
      count: async () => users.size,
      insert: (user) => write(() => void users.set(user.id, user)),
      replace,
      replaceOwn: replace,
      remove: (id) => write(() => users.delete(id)),
    },
    endSessionsOf: () => write(() => void kept.delete('sessions')),
    removeBelongings: () => write(() => void kept.delete('belongings')),
    nextUserId: async () => ID + 1,
    changed: () => write(() => 1),
    passwords: { prepare: async () => {}, hash: async () => '', matches: async () => false },
    clock: Date.now,
  });
  return { accounts, users, kept, writes: () => writes };
}

describe('the removal of a user', () => {
  const whole = setUp(0);
  it('leaves nothing of them', async () => {
    await whole.accounts.remove(ID);
    expect([whole.users.size, whole.kept.size]).toEqual([0, 0]);
  });

  it.each([1, 2, 3, 4, 5, 6])('that the store stops at its write %i is ended by another call, or is over', async (awayAt) => {
    const { accounts, users, kept, writes } = setUp(awayAt);
    await accounts.remove(ID).catch((error) => expect(error).toBe(AWAY));
    if (awayAt > 1 && users.has(ID)) expect(users.get(ID)?.disabled).toBe(true);
    if (users.has(ID)) await accounts.remove(ID);
    expect([users.size, kept.size]).toEqual([0, 0]);
    expect(writes()).toBeGreaterThanOrEqual(awayAt);
  });
});

describe('a name that users take by themselves', () => {
  const own = { password: '', sso_id: '' };
  const saved = { ...own, base_path: '/', role: ROLE.general, disabled: false, permission: 0, allow_ldap: false };

  it('is told from one that the administrator has saved', async () => {
    const { accounts, users } = setUp(0);
    await accounts.updateSelf(ID, { ...own, username: 'ann' });
    expect(users.get(ID)?.choseName).toBe(false);
    await accounts.updateSelf(ID, { ...own, username: 'beth' });
    await accounts.updateSelf(ID, { ...own, username: 'beth' });
    expect(users.get(ID)).toMatchObject({ username: 'beth', choseName: true });
    await accounts.update(ID, { ...saved, username: 'beth' });
    expect(users.get(ID)?.choseName).toBe(false);
  });

  it.each(['\ufe0f', '\u3164', '\u034f', '\u115f', '\u180b', '\u17b4', '\u2800', '\u{e0100}'])(
    'does not look like another one by %j',
    async (sign) => {
      const { accounts, users } = setUp(0);
      const username = `carol${sign}`;
      const unseen = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('not to be seen') };
      await expect(accounts.updateSelf(ID, { ...own, username })).rejects.toMatchObject(unseen);
      await expect(accounts.update(ID, { ...saved, username })).rejects.toMatchObject(unseen);
      await expect(accounts.create({ ...saved, username })).rejects.toMatchObject(unseen);
      // One that an earlier version took stays.
      users.set(ID, { ...USER, username, usernameKey: username });
      await accounts.updateSelf(ID, { ...own, username });
      await accounts.update(ID, { ...saved, username });
      expect(users.get(ID)?.username).toBe(username);
    },
  );
});
