import { afterAll, describe, expect, it } from 'vitest';
import { createArgon2 } from '../crypto/argon2.ts';
import { createPasswords, MAX_PASSWORD_BYTES } from './passwords.ts';
import { staticHash } from './static-hash.ts';

const argon2id = createArgon2();
afterAll(() => argon2id.close());

/** argon2id that counts what it is asked. */
function counting() {
  const counts = { hash: 0, verify: 0 };
  return {
    counts,
    hash: (text: string) => {
      counts.hash += 1;
      return argon2id.hash(text);
    },
    verify: (hash: string, text: string) => {
      counts.verify += 1;
      return argon2id.verify(hash, text);
    },
  };
}

describe('passwords', () => {
  it('a password matches its stored hash and no other, and equal passwords have different hashes', async () => {
    const passwords = createPasswords(argon2id);
    const stored = await passwords.hash('correct horse');
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await passwords.hash('correct horse')).not.toBe(stored);
    expect(await passwords.matches(stored, staticHash('correct horse'))).toBe(true);
    expect(await passwords.matches(stored, staticHash('correct horsf'))).toBe(false);
    expect(await passwords.matches(stored, 'correct horse')).toBe(false);
    expect(await passwords.matches(stored, '')).toBe(false);
  });

  it('whoever has no password is matched by nothing, not even by the empty one', async () => {
    const passwords = createPasswords(argon2id);
    expect(await passwords.hash('')).toBe('');
    for (const text of ['', staticHash('')]) {
      expect(await passwords.matches('', text)).toBe(false);
      expect(await passwords.matches(undefined, text)).toBe(false);
    }
  });

  it('a known, an unknown and an unset password each cost one verification', async () => {
    const slowHash = counting();
    const passwords = createPasswords(slowHash);
    await passwords.prepare();
    const stored = await passwords.hash('one');
    const before = { ...slowHash.counts };
    for (const hash of [stored, undefined, '']) await passwords.matches(hash, staticHash('two'));
    expect(slowHash.counts).toEqual({ hash: before.hash, verify: before.verify + 3 });
  });

  it.each([
    ['x'.repeat(MAX_PASSWORD_BYTES), true],
    ['x'.repeat(MAX_PASSWORD_BYTES + 1), false],
    ['密'.repeat(342), false],
  ])('the length is limited in bytes', async (password, isFine) => {
    const hash = createPasswords({ hash: async () => 'hash', verify: async () => false }).hash(password);
    if (isFine) expect(await hash).toBe('hash');
    else await expect(hash).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.not.stringContaining(password) });
  });
});
