import { createPrivateKey } from 'node:crypto';
import type { ParsedKey } from 'ssh2';

const ED25519 = 'ssh-ed25519';
/** What is sealed is filled up to whole blocks, also where nothing seals it (PROTOCOL.key of OpenSSH). */
const BLOCK_BYTES = 8;

/** A private key as a text that the library reads without a passphrase; another key as it is. */
export function withoutPassphrase(key: ParsedKey): string {
  if (!key.isPrivateKey()) return key.getPublicSSH().toString('base64');
  const pem = key.getPrivatePEM();
  // Of this kind the library reads OpenSSH's form alone.
  return key.type === ED25519 ? opensshText(pem) : pem;
}

function opensshText(pem: string): string {
  const { d = '', x = '' } = createPrivateKey(pem).export({ format: 'jwk' });
  const publicBytes = Buffer.from(x, 'base64url');
  const fields = [text(ED25519), text(publicBytes), text(Buffer.concat([Buffer.from(d, 'base64url'), publicBytes])), text('')];
  // Two equal numbers, by which one sees that it was opened rightly.
  const body = Buffer.concat([Buffer.alloc(8), ...fields]);
  const filling = Buffer.from(Array.from({ length: (BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES }, (_, index) => index + 1));
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[text('none'), text('none'), text(''), count(1)],
    text(Buffer.concat([text(ED25519), text(publicBytes)])),
    text(Buffer.concat([body, filling])),
  ]);
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----'].join('\n');
}

function text(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([count(bytes.length), bytes]);
}

function count(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
