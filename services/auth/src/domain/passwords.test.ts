import { afterAll, describe, expect, it } from 'vitest';
import { createArgon2 } from '../crypto/argon2.ts';
import { createPasswords, MAX_PASSWORD_BYTES } from './passwords.ts';
import { staticHash } from './static-hash.ts';

const by = (address: string) => ({ address, refuseLocked: async () => undefined });
const SOMEBODY = by('192.0.2.1');
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
    expect(await passwords.matches(stored, staticHash('correct horse'), SOMEBODY)).toBe(true);
    expect(await passwords.matches(stored, staticHash('correct horsf'), SOMEBODY)).toBe(false);
    expect(await passwords.matches(stored, 'correct horse', SOMEBODY)).toBe(false);
    expect(await passwords.matches(stored, '', SOMEBODY)).toBe(false);
  });

  it('whoever has no password is matched by nothing, not even by the empty one', async () => {
    const passwords = createPasswords(argon2id);
    expect(await passwords.hash('')).toBe('');
    for (const text of ['', staticHash('')]) {
      expect(await passwords.matches('', text, SOMEBODY)).toBe(false);
      expect(await passwords.matches(undefined, text, SOMEBODY)).toBe(false);
    }
  });

  it('a known, an unknown and an unset password each cost one verification', async () => {
    const slowHash = counting();
    const passwords = createPasswords(slowHash);
    await passwords.prepare();
    const stored = await passwords.hash('one');
    const before = { ...slowHash.counts };
    for (const hash of [stored, undefined, '']) await passwords.matches(hash, staticHash('two'), SOMEBODY);
    expect(slowHash.counts).toEqual({ hash: before.hash, verify: before.verify + 3 });
  });

  it('what one user or one address asks for takes one place of those that wait, however often it is asked', async () => {
    let done = 0;
    const work = async <Answer>(answer: Answer) => {
      done += 1;
      return answer;
    };
    const passwords = createPasswords({ hash: () => work('hash'), verify: () => work(true) });
    await passwords.prepare();
    const own = Array.from({ length: 251 }, () => passwords.hash('one', 7));
    const ofAddress = Array.from({ length: 251 }, () => passwords.matches('hash', 'two', SOMEBODY));
    const all = Promise.all([...own, ...ofAddress]);
    const tooMany = Promise.allSettled([passwords.hash('one', 7), passwords.matches('hash', 'two', SOMEBODY)]);
    expect(await passwords.matches('hash', 'three', by('192.0.2.2'))).toBe(true);
    expect(done).toBeLessThan(10);
    await all;
    // It says when to come again, which becomes `Retry-After`.
    const refusal = { reason: { code: 'RATE_LIMITED', details: { retryAfterMs: 10_000 } } };
    expect(await tooMany).toMatchObject([refusal, refusal]);
    expect(done).toBe(1 + 502 + 1);
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
