import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseSshPublicKey } from './ssh-public-key.ts';

const wire = (...parts: (string | Buffer)[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
const line = (type: string, ...parts: (string | Buffer)[]) => `${type} ${wire(type, ...parts).toString('base64')}`;
/** An integer as SSH writes it: with a zero before a first bit that is set. */
const integer = (bytes: Buffer) => ((bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes);
const bytesOf = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');

const rsaParts = (bits: number) => {
  const { e, n } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
  return [integer(bytesOf(e)), integer(bytesOf(n))] as const;
};
const pointOf = (curve: string) => {
  const { x, y } = generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.from([4]), bytesOf(x), bytesOf(y)]);
};
const ed25519 = bytesOf(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x);
const rsa = rsaParts(2048);
const p256 = pointOf('P-256');

const GOOD: [string, string][] = [
  ['rsa', line('ssh-rsa', ...rsa)],
  ['ed25519', line('ssh-ed25519', ed25519)],
  ['ecdsa 256', line('ecdsa-sha2-nistp256', 'nistp256', p256)],
  ['ecdsa 384', line('ecdsa-sha2-nistp384', 'nistp384', pointOf('P-384'))],
  ['ecdsa 521', line('ecdsa-sha2-nistp521', 'nistp521', pointOf('P-521'))],
  ['ed25519 of a device', line('sk-ssh-ed25519@openssh.com', ed25519, 'ssh:')],
  ['ecdsa of a device', line('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', p256, 'ssh:work')],
];
const good = line('ssh-ed25519', ed25519);
const [, encoded = ''] = good.split(' ');

describe('an OpenSSH public key', () => {
  it.each(GOOD)('of the kind %s is read', (_, text) => {
    const [type = '', blob = ''] = text.split(' ');
    const digest = createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64');
    expect(parseSshPublicKey(text)).toEqual({ type, blob, fingerprint: `SHA256:${digest.replace(/=*$/, '')}` });
  });

  it.each([
    ['a comment', `${good} somebody@somewhere and more`],
    ['blanks around it', `  ${good}\r\n`],
    ['tabs', good.replace(' ', '\t\t')],
    ['an option', `restrict ${good}`],
    ['options with blanks and quotes', `command="say \\"hello, world\\" ssh-rsa",no-pty ${good} comment`],
    ['the name of another kind in an option', `environment="A=ssh-rsa AAAA" ${good}`],
  ])('may come with %s', (_, text) => {
    expect(parseSshPublicKey(text)).toMatchObject({ type: 'ssh-ed25519', blob: encoded });
  });

  it.each([
    ['alone', `"${good}`],
    ['in options', `command="say ${good}`],
    ['behind many that are escaped', `"${'\\"'.repeat(4_000)} ${good}`],
    ['before a lone backslash', `"${'\\"'.repeat(4_000)} ${good}\\`],
  ])('is not found behind a quote that is not closed, %s', (_, text) => {
    expect(() => parseSshPublicKey(text)).toThrow('provided key invalid');
  });

  const reversed = Buffer.from(p256).reverse();
  it.each([
    ['nothing', ''],
    ['words', 'not a key'],
    ['the kind alone', 'ssh-ed25519'],
    ['no kind', encoded],
    ['another kind before it', good.replace('ssh-ed25519', 'ssh-rsa')],
    ['an unknown kind', line('ssh-unknown', ed25519)],
    ['a name every object has', `constructor ${encoded}`],
    ['a DSA key', line('ssh-dss', ...rsa, ...rsa)],
    ['a certificate', line('ssh-ed25519-cert-v01@openssh.com', ed25519)],
    ['two lines', `${good}\n${good}`],
    ['a zero byte', `${good} \0`],
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    ['letters that are no base64', `${good.slice(0, -4)}!!!!`],
    ['the URL form of base64', line('ssh-rsa', ...rsa).replace(/[+/]/, '_')],
    ['bits after the end of base64', `${good}A`],
    ['a byte too few', `ssh-ed25519 ${wire('ssh-ed25519', ed25519.subarray(1)).toString('base64')}`],
    ['a byte too many', line('ssh-ed25519', Buffer.concat([ed25519, Buffer.alloc(1)]))],
    ['more after the key', line('ssh-ed25519', ed25519, 'more')],
    ['a length beyond its end', `ssh-ed25519 ${Buffer.from('0000000b7373682d65643235353139ffffffff', 'hex').toString('base64')}`],
    ['nothing after the kind', line('ssh-ed25519')],
    ['an even exponent', line('ssh-rsa', Buffer.from([2]), rsa[1])],
    ['an exponent of one', line('ssh-rsa', Buffer.from([1]), rsa[1])],
    ['a negative modulus', line('ssh-rsa', rsa[0], rsa[1].subarray(1))],
    ['a padded modulus', line('ssh-rsa', rsa[0], Buffer.concat([Buffer.alloc(1), rsa[1]]))],
    ['a modulus of 512 bits', line('ssh-rsa', rsa[0], integer(Buffer.alloc(64, 0xff)))],
    ['a modulus of 32768 bits', line('ssh-rsa', rsa[0], integer(Buffer.alloc(4_096, 0xff)))],
    [
      'a point that is not on the curve',
      line('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.from([4]), reversed.subarray(0, 64)])),
    ],
    ['a compressed point', line('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.from([2]), p256.subarray(1, 33)]))],
    ['another curve', line('ecdsa-sha2-nistp256', 'nistp384', p256)],
    ['a device key without its application', line('sk-ssh-ed25519@openssh.com', ed25519)],
    ['a device key for a web site', line('sk-ssh-ed25519@openssh.com', ed25519, 'https://example.org')],
    ['a line of a megabyte', `${good} ${'x'.repeat(1_000_000)}`],
    ['a quote that does not end', `command="${'\\"'.repeat(5_000)} ${good}`],
  ])('with %s is refused', (_, text) => {
    expect(() => parseSshPublicKey(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message: 'provided key invalid' }));
  });
});
