import { randomBytes } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { createInternalTokens, type UserIdentity } from './identity.ts';

const key = randomBytes(32);
const user: UserIdentity = { kind: 'user', id: 7, username: 'ann', role: 0, permission: 8, basePath: '/team', sessionId: 's' };
const refused = expect.objectContaining({ code: 'UNAUTHENTICATED' });

describe('internal tokens', () => {
  it('carry a user and a service', () => {
    const tokens = createInternalTokens(key, () => Date.now());
    expect(tokens.verify(tokens.mint(user))).toEqual(user);
    expect(tokens.verify(tokens.mint({ kind: 'service', name: 'fs' }))).toEqual({ kind: 'service', name: 'fs' });
  });

  it('are good for a minute, remembered or not', () => {
    let now = 1_700_000_000_000;
    const clock = () => now;
    const tokens = createInternalTokens(key, clock, clock);
    const token = tokens.mint(user);
    expect(tokens.verify(token)).toEqual(user);
    now += 61_000;
    expect(() => tokens.verify(token)).toThrow(refused);
    expect(tokens.verify(tokens.mint(user))).toEqual(user);
  });

  it.each([600_000, -600_000])(
    'are good while one of two processes knows that the clock was set by %i ms, and the other one not yet',
    (byMs) => {
      let steady = 1_000;
      const setUp = () => {
        const own = { setMs: 0 };
        return {
          own,
          tokens: createInternalTokens(
            key,
            () => 1_700_000_000_000 + steady + own.setMs,
            () => steady,
          ),
        };
      };
      const [early, late] = [setUp(), setUp()];
      const areUnderstood = () => {
        expect(early.tokens.verify(late.tokens.mint(user))).toEqual(user);
        expect(late.tokens.verify(early.tokens.mint(user))).toEqual(user);
      };
      areUnderstood();
      early.own.setMs = byMs;
      areUnderstood();
      steady += 35_000;
      areUnderstood();
      late.own.setMs = byMs;
      for (let minute = 0; minute < 20; minute += 1) {
        areUnderstood();
        steady += 60_000;
      }
      const old = early.tokens.mint(user);
      steady += 61_000;
      expect(() => late.tokens.verify(old)).toThrow(refused);
    },
  );

  it('of another key, without a signature, or made for logins are refused', () => {
    const tokens = createInternalTokens(key, () => Date.now());
    const forged = [
      createInternalTokens(randomBytes(32), () => Date.now()).mint(user),
      jsonwebtoken.sign({ identity: user, aud: 'wharf-internal', exp: 9_999_999_999 }, '', { algorithm: 'none' }),
      jsonwebtoken.sign({ identity: user, exp: 9_999_999_999 }, key),
      jsonwebtoken.sign({ identity: { ...user, role: '2' }, aud: 'wharf-internal', exp: 9_999_999_999 }, key),
      '',
      'x',
    ];
    for (const token of forged) expect(() => tokens.verify(token)).toThrow(refused);
  });
});
