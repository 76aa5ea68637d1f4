import { describe, expect, it } from 'vitest';
import { Secret } from '../config/secret.ts';
import { deriveKeys, seal, unseal } from './keys.ts';

const keys = deriveKeys(new Secret('s'.repeat(32)));

describe('keys', () => {
  it('each purpose has a key of its own, the same every time', () => {
    const again = deriveKeys(new Secret('s'.repeat(32)));
    expect(again).toEqual(keys);
    expect(new Set(Object.values(keys).map((key) => key.toString('hex'))).size).toBe(5);
    expect(deriveKeys(new Secret('t'.repeat(32))).jwt).not.toEqual(keys.jwt);
  });

  it('a sealed text opens under its key, and looks different each time', () => {
    const sealed = seal(keys.atRest, '{"password":"päss"}');
    expect(unseal(keys.atRest, sealed)).toBe('{"password":"päss"}');
    expect(sealed).not.toContain('pass');
    expect(seal(keys.atRest, 'a')).not.toBe(seal(keys.atRest, 'a'));
  });

  it('another key, a changed byte and a text that was never sealed are refused', () => {
    const sealed = seal(keys.atRest, 'text');
    const changed = sealed.slice(0, -2) + (sealed.at(-2) === 'A' ? 'B' : 'A') + sealed.at(-1);
    for (const [key, text] of [
      [keys.jwt, sealed],
      [keys.atRest, changed],
      [keys.atRest, 'text'],
      [keys.atRest, 'v1.'],
    ] as const)
      expect(() => unseal(key, text)).toThrow(expect.objectContaining({ code: 'CONTENT_CORRUPT' }));
  });
});
