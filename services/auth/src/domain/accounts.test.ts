import { ROLE } from '@wharf/rights';
import { describe, expect, it } from 'vitest';
import { createAccounts } from './accounts.ts';
import type { User } from './user.ts';

const ID = 7;
const USER: User = {
  ...{ id: ID, username: 'ann', usernameKey: 'ann', passwordHash: 'hash', pwdTs: 1, basePath: '/', role: ROLE.general, permission: 0 },
  ...{ disabled: false, ssoId: '', allowLdap: false, quotaBytes: 0, otpSecret: '' },
};
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
