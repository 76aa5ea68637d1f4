import { describe, expect, it } from 'vitest';
import { decryptUnder, encryptUnder } from './passphrase.ts';

// Deriving a key is meant to be slow.
describe('a passphrase', { timeout: 60_000 }, () => {
  it('opens what it encrypted, and nothing else does', async () => {
    const encrypted = await encryptUnder('correct horse', 'canary');
    expect(JSON.stringify(encrypted)).not.toContain('canary');
    expect(await decryptUnder('correct horse', encrypted)).toBe('canary');
    await expect(decryptUnder('correct house', encrypted)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'the passphrase is wrong',
    });
    const changed = { ...encrypted, sealed: encrypted.sealed.replace(/.(?=.$)/, (letter) => (letter === 'x' ? 'y' : 'x')) };
    await expect(decryptUnder('correct horse', changed)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('has eight characters at least', async () => {
    await expect(encryptUnder('1234567', 'x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('makes another file each time', async () => {
    const [one, two] = await Promise.all([encryptUnder('correct horse', 'x'), encryptUnder('correct horse', 'x')]);
    expect(one.salt).not.toBe(two.salt);
  });
});
