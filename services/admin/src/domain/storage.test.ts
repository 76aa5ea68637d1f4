import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { createStoragesRoom, parseStorageFields, type StorageFields } from './storage.ts';
import { storageFields } from './testing/fields.ts';

const codeOf = (rest: Partial<StorageFields>) => {
  try {
    parseStorageFields(storageFields(rest));
  } catch (error) {
    return AppError.from(error).code;
  }
  return undefined;
};

describe('parseStorageFields', () => {
  it('keeps what is in order', () => {
    const given = storageFields({ order_by: 'size', order_direction: 'desc', extract_folder: 'front', addition: '{ "a": 1 }', order: -3 });
    expect(parseStorageFields(given)).toEqual(given);
  });

  it('passes over fields that are not for clients', () => {
    expect(parseStorageFields({ ...storageFields(), ...{ status: 'work', modified: 'x', id: 7 } })).toEqual(storageFields());
  });

  it('cleans the mount path', () => {
    expect(parseStorageFields(storageFields({ mount_path: 'a\\b/' })).mount_path).toBe('/a/b');
    expect(parseStorageFields(storageFields({ mount_path: '/' })).mount_path).toBe('/');
  });

  it.each(['', '  '])('takes the addition %j for the empty object', (addition) => {
    expect(parseStorageFields(storageFields({ addition })).addition).toBe('{}');
  });

  it('takes a choice it does not know for none, and a negative cache time for no cache', () => {
    const given = storageFields({ order_by: 'none', order_direction: 'up', extract_folder: 'none', cache_expiration: -1 });
    expect(parseStorageFields(given)).toEqual(storageFields({ cache_expiration: 0 }));
  });

  it.each([
    ['an addition that is nested too deeply', { addition: `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}` }, 'INVALID_ARGUMENT'],
    ['no mount path', { mount_path: '' }, 'INVALID_ARGUMENT'],
    ['a mount path that climbs', { mount_path: '/a/../b' }, 'UNSAFE_PATH'],
    ['a mount path of which no place remains', { mount_path: '/a/...balance' }, 'UNSAFE_PATH'],
    ['an addition that is a list', { addition: '[]' }, 'INVALID_ARGUMENT'],
    ['an addition that is null', { addition: 'null' }, 'INVALID_ARGUMENT'],
    ['an addition that is no JSON', { addition: '{' }, 'INVALID_ARGUMENT'],
    ['an addition that is too long', { addition: `{"a":"${'x'.repeat(65_536)}"}` }, 'INVALID_ARGUMENT'],
    ['a remark that is too long', { remark: 'x'.repeat(65_537) }, 'INVALID_ARGUMENT'],
    ['a driver that is too long', { driver: 'x'.repeat(129) }, 'INVALID_ARGUMENT'],
    ['cache policies that take too long', { custom_cache_policies: `/${'[\\pL]'.repeat(193)}:5\n`.repeat(67) }, 'INVALID_ARGUMENT'],
  ])('refuses %s', (_what, rest, code) => {
    expect(codeOf(rest)).toBe(code);
  });
});

it('all storages together have 16 MiB, and one that becomes smaller is taken in any case', () => {
  const long = 'x'.repeat(65_000);
  const texts = { addition: long, custom_cache_policies: long, remark: long, down_proxy_url: long };
  const stored = { ...storageFields(texts), status: 'work', modified: new Date(0), version: '' };
  const takeRoom = createStoragesRoom(Array.from({ length: 63 }, (_, id) => ({ ...stored, id })));
  takeRoom(storageFields(texts), undefined);
  for (const id of [undefined, 99])
    expect(() => takeRoom(storageFields(texts), id)).toThrow(
      expect.objectContaining({ code: 'QUOTA_EXCEEDED', message: expect.stringContaining('16 MiB together') }),
    );
  takeRoom(storageFields({ remark: long }), 1);
  takeRoom(storageFields(), undefined);
});
