import { describe, expect, it } from 'vitest';
import { rulesFromStore, storageFromStore, userFromStore } from './closed-records.ts';
import { type RuleRecord, rules } from './collections/rules.ts';
import { type StorageRecord, storages } from './collections/storages.ts';
import { type UserRecord, users } from './collections/users.ts';
import type { Fields } from './fields.ts';

/** Values of other types than the field's. */
const ODD: readonly unknown[] = [undefined, null, 7, true, 'x', {}, [null], new Date(Number.NaN), Number.NaN];

const emptyOf = (fields: Fields) => Object.fromEntries(Object.entries(fields).map(([name, { empty }]) => [name, empty]));
const rule = { ...emptyOf(rules.fields), _id: 1, path: '/a' } as RuleRecord;
const storage = { ...emptyOf(storages.fields), _id: 1, mount_path: '/a', order: 3 } as StorageRecord;
const user = { ...emptyOf(users.fields), _id: 3, username: 'u', base_path: '/' } as UserRecord;

/** Each field of a record with each value that it cannot have. */
function* damages<Type extends object>(fields: Fields, whole: Type): Generator<[field: string, damaged: Type]> {
  for (const [name, { is }] of Object.entries(fields)) for (const value of ODD) if (!is(value)) yield [name, { ...whole, [name]: value }];
}

/** What every reader may rely on. */
function expectTyped(fields: Fields, record: object) {
  expect(Object.entries(fields).filter(([name, { is }]) => !is(Reflect.get(record, name)))).toEqual([]);
}

describe('a record of the store', () => {
  it('is the very same where it is whole', () => {
    expect(rulesFromStore([rule])[0]).toBe(rule);
    expect(storageFromStore(storage)).toBe(storage);
    expect(userFromStore(user)).toBe(user);
    const { otp_recovery: _, quota_bytes: __, otp_pending_until: ___, ...older } = user;
    expect(userFromStore(older as UserRecord)).toBe(older);
  });

  it('that is a rule and can be read in part closes its path, and the whole tree where that is what cannot be read', () => {
    const harmless = ['readme', 'header', 'r_sub', 'header_sub', 'write', 'w_sub'];
    for (const [field, damaged] of damages(rules.fields, rule)) {
      const told: unknown[] = [];
      const [read] = rulesFromStore([damaged], (error, { _id }) => told.push([error.message, _id]));
      expectTyped(rules.fields, read ?? {});
      const isClosed = !harmless.includes(field);
      expect(told).toEqual(isClosed ? [[`it is stored oddly: ${field}`, damaged._id]] : []);
      expect([field, read?.hide, read?.read_users]).toEqual([field, isClosed ? '.' : '', isClosed ? [-2] : []]);
      expect(read?.path).toBe(field === 'path' ? '/' : '/a');
    }
    for (const path of ['', 'a', 'x'.repeat(200_000), `/${'x'.repeat(4096)}`])
      expect(rulesFromStore([{ ...rule, path }])[0]).toMatchObject({ path: '/', hide: '.' });
  });

  it('that is a closed rule comes behind the others, which have its place otherwise', () => {
    const [odd, root] = [
      { ...rule, path: null as unknown as string },
      { ...rule, _id: 2, path: '/' },
    ];
    expect(rulesFromStore([odd, root]).map(({ _id }) => _id)).toEqual([2, 1]);
  });

  it('that is a storage is switched off and says why, unless what cannot be read is harmless', () => {
    for (const [field, damaged] of damages(storages.fields, storage)) {
      const read = storageFromStore(damaged);
      expectTyped(storages.fields, read);
      const isOff = !storages.fields[field as keyof StorageRecord].isHarmless;
      expect([field, read.disabled, read.status]).toEqual([field, isOff, isOff ? `it is stored oddly: ${field}` : '']);
    }
    expect(storageFromStore({ ...storage, disable_proxy_sign: 'x' as never, order: null as never })).toMatchObject({
      order: 0,
      disabled: true,
    });
  });

  it('that is a user is disabled, unless what cannot be read is harmless', () => {
    for (const [field, damaged] of damages(users.fields, user)) {
      const read = userFromStore(damaged);
      expectTyped(users.fields, read);
      expect([field, read.disabled]).toEqual([
        field,
        ['_id', 'role', 'base_path', 'disabled', 'quota_bytes', 'chose_name'].includes(field),
      ]);
      // Nobody passes it, and nothing of it is off.
      if (field === 'otp_secret') expect(read.otp_secret).toBe('unreadable');
    }
  });
});
