import { describe, expect, it } from 'vitest';
import { refusal } from '../testing/refusal.ts';
import { createLinkSigner } from './link-signer.ts';

const TOKEN = 'wharf-0123456789abcdef';
const NOW = Date.parse('2024-06-01T00:00:00Z');
const signer = createLinkSigner(TOKEN, () => NOW);

describe('a signature', () => {
  // Computed with: printf '%s' "$path:$expiry" | openssl dgst -sha256 -hmac "$token" -binary | base64 | tr '+/' '-_'
  it.each([
    ['/a/b.txt', 0, 'jY87mks9jlhfy4JmOjIvQGNCnky011THKrHRuZlXDsU=:0'],
    ['/Größe/日本 1+2.mp4', 0, 'AJi3GdCNGx-JNQ1Hb-EZ_i5b_qb3a-NtRvvHcXuFiJ8=:0'],
    ['/a/b.txt', 2, 'st9j8cLYD8UvVKPsWb3uPJiP3OvtjH2a86Z5nMvzRr4=:1717207200'],
  ])('of %s for %i hours is the one of the family', (path, hours, sign) => {
    expect(signer.sign(path, hours)).toBe(sign);
    expect(() => signer.verify(path, sign)).not.toThrow();
  });

  it('is the same each time while it never expires', () => {
    expect(signer.sign('/x', 0)).toBe(signer.sign('/x', 0));
    expect(signer.sign('/x', -3)).toBe(signer.sign('/x', 0));
  });

  it('is good without its padding, and with a slash behind it', () => {
    const sign = signer.sign('/x', 0);
    signer.verify('/x', sign.replace('=', ''));
    signer.verify('/x', `${sign}/`);
  });

  it('is good until its time is over', () => {
    const sign = signer.sign('/x', 1);
    createLinkSigner(TOKEN, () => NOW + 3_600_000).verify('/x', sign);
    expect(refusal(() => createLinkSigner(TOKEN, () => NOW + 3_600_001).verify('/x', sign))).toEqual(['UNAUTHENTICATED', 'sign expired']);
  });

  it.each([
    ['', 'expire missing'],
    ['abc', 'expire missing'],
    ['abc:', 'expire missing'],
    ['abc:x', 'expire invalid'],
    ['abc:-1', 'expire invalid'],
    ['abc:1e20', 'expire invalid'],
    ['abc:9999999999999999', 'expire invalid'],
    ['abc:1', 'sign expired'],
    ['abc:00', 'sign expired'],
    ['abc:0', 'sign invalid'],
    [':0', 'sign invalid'],
  ])('%j is refused with %j', (sign, message) => {
    expect(refusal(() => signer.verify('/x', sign))).toEqual(['UNAUTHENTICATED', message]);
  });

  it.each([
    ['much padding', `${'='.repeat(30_000)}x:0`],
    ['more padding than there is', signer.sign('/x', 0).replace('=', '==')],
    ['much behind it', `${signer.sign('/x', 0)}${'/'.repeat(30_000)}`],
  ])('with %s is none, and takes no time', (_title, sign) => {
    for (let time = 0; time < 100; time++) expect(refusal(() => signer.verify('/x', sign))[0]).toBe('UNAUTHENTICATED');
  });

  it('of one path does not become one of another by what stands between them', () => {
    const path = '/a /b';
    const sign = signer.sign(path, 0);
    signer.verify(path, sign);
    for (const [other, given] of [
      ['/b', `${sign} /a`],
      ['/a ', `/b${sign}`],
      ['/a /b', ` ${sign}`],
    ] as const)
      expect(refusal(() => signer.verify(other, given))[0]).toBe('UNAUTHENTICATED');
  });

  it('is bound to its path, its time and the token', () => {
    const sign = signer.sign('/x', 0);
    const timed = signer.sign('/x', 1);
    const [mac] = timed.split(':');
    for (const attempt of [
      () => signer.verify('/x/', sign),
      () => signer.verify('/X', sign),
      () => signer.verify('/x', `${mac}:0`),
      () => signer.verify('/x', `${mac}:${Math.floor(NOW / 1000) + 99_999}`),
      () => createLinkSigner(`${TOKEN}0`, () => NOW).verify('/x', sign),
    ])
      expect(refusal(attempt)).toEqual(['UNAUTHENTICATED', 'sign invalid']);
  });
});
