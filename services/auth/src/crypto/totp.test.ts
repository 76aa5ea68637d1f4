import { describe, expect, it } from 'vitest';
import { totp } from './totp.ts';

describe('time-based codes', () => {
  // RFC 6238, appendix B: the secret is the text 12345678901234567890; of its eight digits the last six.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ])('are those of RFC 6238 at %i s', (seconds, code) => {
    expect(totp.codeAt('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', Math.floor(seconds / 30))).toBe(code);
  });

  it('have secrets of 32 characters that nobody can guess', () => {
    const secrets = Array.from({ length: 100 }, () => totp.makeSecret());
    for (const secret of secrets) expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(new Set(secrets).size).toBe(100);
  });

  it('have an address for authenticators', () => {
    const uri = new URL(totp.uri('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 'Ünal & co'));
    expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual(['otpauth:', 'totp', '/Wharf:Ünal & co']);
    expect(uri.searchParams.get('secret')).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    expect(uri.searchParams.get('issuer')).toBe('Wharf');
  });
});
