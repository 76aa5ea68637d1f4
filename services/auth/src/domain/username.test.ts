import { AppError } from '@wharf/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findUsernameKey, parseUsername } from './username.ts';

describe('a username', () => {
  it.each([
    ['alice', 'alice', 'alice'],
    ['  Alice ', 'Alice', 'alice'],
    ['Ａｌｉｃｅ', 'Ａｌｉｃｅ', 'alice'],
    ['Straße', 'Straße', 'strasse'],
    ['STRAẞE', 'STRAẞE', 'strasse'],
    ['ΟΔΟΣ', 'ΟΔΟΣ', 'οδος'],
    ['οδοσ', 'οδοσ', 'οδος'],
    ['张 三', '张 三', '张 三'],
    ['a..b', 'a..b', 'a..b'],
    ['x'.repeat(64), 'x'.repeat(64), 'x'.repeat(64)],
    ['😀'.repeat(64), '😀'.repeat(64), '😀'.repeat(64)],
  ])('%j is the name %j with the key %j', (raw, username, usernameKey) => {
    expect(parseUsername(raw)).toEqual({ username, usernameKey });
  });

  it.each([
    ['', 'username is required'],
    [' \t ', 'username is required'],
    ['a/b', 'must not contain'],
    ['a\\b', 'must not contain'],
    ['a:b', 'must not contain'],
    ['a／b', 'must not contain'],
    ['a：b', 'must not contain'],
    ['a\0b', 'must not contain'],
    ['a\nb', 'must not contain'],
    ['a\u007fb', 'must not contain'],
    ['a\u200bb', 'must not contain'],
    ['a\u202eb', 'must not contain'],
    ['a\u2028b', 'must not contain'],
    ['a\ud800b', 'must not contain'],
    ['x'.repeat(65), '1 to 64 characters'],
    ['ﷺ'.repeat(10), '1 to 64 characters'],
    ['x'.repeat(1_000_000), '1 to 64 characters'],
  ])('%j is refused', (raw, text) => {
    expect(() => parseUsername(raw)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(text) }));
    expect(findUsernameKey(raw)).toBeUndefined();
  });

  it('a name that is accepted has the key of its own key, whatever its letters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (raw) => {
        const key = findUsernameKey(raw);
        fc.pre(key !== undefined);
        expect(findUsernameKey(key)).toBe(key);
      }),
    );
  });

  it('nothing but an AppError is ever thrown', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (raw) => {
        try {
          parseUsername(raw);
        } catch (error) {
          expect(AppError.is(error, 'INVALID_ARGUMENT')).toBe(true);
        }
      }),
    );
  });
});
