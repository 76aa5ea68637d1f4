import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { openLockedKey } from './open-locked-key.ts';

const { utils } = ssh2;
const passphrase = 'canary-phrase';
const ROUNDS_BYTES = 4;

function lockedKey(type: 'ed25519' | 'ecdsa' | 'rsa'): { text: string; publicText: string } {
  const options = {
    passphrase,
    cipher: 'aes256-cbc',
    rounds: 16,
    ...(type === 'rsa' ? { bits: 2048 } : type === 'ecdsa' ? { bits: 256 } : {}),
  };
  const { private: text, public: publicText } = utils.generateKeyPairSync(type as never, options as never);
  return { text, publicText };
}

/** The same key, which says that it was made in so many rounds. */
function withRounds(text: string, rounds: number): string {
  const bytes = Buffer.from(text.split('\n').slice(1, -1).join(''), 'base64');
  let at = Buffer.byteLength('openssh-key-v1\0');
  // The names of cipher and derivation, and its options, at whose end the rounds are.
  for (let field = 0; field < 3; field += 1) at += ROUNDS_BYTES + bytes.readUInt32BE(at);
  bytes.writeUInt32BE(rounds, at - ROUNDS_BYTES);
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', bytes.toString('base64'), '-----END OPENSSH PRIVATE KEY-----'].join('\n');
}

it.each(['ed25519', 'ecdsa', 'rsa'] as const)('a key of %s is the same one without its passphrase', async (type) => {
  const { text, publicText } = lockedKey(type);
  const opened = utils.parseKey(await openLockedKey({ text, passphrase }, undefined));
  const known = utils.parseKey(publicText);
  if (opened instanceof Error || known instanceof Error) throw new Error('no key');
  expect(opened.isPrivateKey()).toBe(true);
  expect(opened.getPublicSSH().equals(known.getPublicSSH())).toBe(true);
  const signature = opened.sign(Buffer.from('a text'));
  expect(known.verify(Buffer.from('a text'), signature)).toBe(true);
});

it('a wrong passphrase and a text that is no key are refused, without the passphrase', async () => {
  const { text } = lockedKey('ed25519');
  for (const key of [
    { text, passphrase: 'another' },
    { text: 'no key', passphrase },
  ])
    await expect(openLockedKey(key, undefined)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.not.stringContaining(key.passphrase),
    });
});

it('a key that takes years to open holds nobody up, and ends with its caller', async () => {
  const gone = new AbortController();
  const text = withRounds(lockedKey('ed25519').text, 2 ** 32 - 1);
  const opening = openLockedKey({ text, passphrase }, gone.signal);
  opening.catch(() => undefined);
  let turns = 0;
  while (turns < 100) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  gone.abort();
  await expect(opening).rejects.toMatchObject({ code: 'CANCELLED' });
});
