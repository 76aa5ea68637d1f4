import { expect, it } from 'vitest';
import { makePermanentToken, parsePermanentToken } from './permanent-token.ts';

it('a fresh token has the fixed form, fits its own rules and is never the same', () => {
  const tokens = Array.from({ length: 100 }, makePermanentToken);
  for (const token of tokens) {
    expect(token).toMatch(/^wharf-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[A-Za-z0-9]{64}$/);
    expect(parsePermanentToken(token)).toBe(token);
  }
  expect(new Set(tokens).size).toBe(tokens.length);
});

it.each(['', 'x'.repeat(15), 'x'.repeat(1_025), `${'x'.repeat(16)} y`, `${'x'.repeat(16)}\n`, `${'x'.repeat(16)}é`])(
  'the token %j is refused',
  (text) => {
    expect(() => parsePermanentToken(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  },
);
