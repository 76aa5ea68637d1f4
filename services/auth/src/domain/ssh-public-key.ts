import { createHash, createPublicKey } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { withoutEnd } from '@wharf/pace';

/** A public key of OpenSSH's kinds. */
export interface SshPublicKey {
  readonly type: string;
  /** The wire form (RFC 4253, section 6.6), as base64 with padding. */
  readonly blob: string;
  /** `SHA256:` and the unpadded base64 of the digest of the wire form. */
  readonly fingerprint: string;
}

/** A 16384-bit RSA key has 2.8 KiB; options and comment may add some. */
const MAX_LINE_LENGTH = 16_384;
/** What OpenSSH takes and makes (sshd_config, RequiredRSASize; ssh-keygen -b). */
const RSA_BITS = { min: 1_024, max: 16_384 };
const ED25519_BYTES = 32;
const CURVES = {
  nistp256: { name: 'P-256', bytes: 32 },
  nistp384: { name: 'P-384', bytes: 48 },
  nistp521: { name: 'P-521', bytes: 66 },
} as const;

/** What follows the name of the type in the wire form: RFC 4253, 5656 and 8709, and OpenSSH's PROTOCOL.u2f for the keys of devices. */
const BODIES: Readonly<Record<string, (reader: WireReader) => void>> = {
  'ssh-rsa': readRsa,
  'ssh-ed25519': readEd25519,
  'ecdsa-sha2-nistp256': (reader) => readPoint(reader, 'nistp256'),
  'ecdsa-sha2-nistp384': (reader) => readPoint(reader, 'nistp384'),
  'ecdsa-sha2-nistp521': (reader) => readPoint(reader, 'nistp521'),
  'sk-ssh-ed25519@openssh.com': (reader) => {
    readEd25519(reader);
    readApplication(reader);
  },
  'sk-ecdsa-sha2-nistp256@openssh.com': (reader) => {
    readPoint(reader, 'nistp256');
    readApplication(reader);
  },
};

/**
 * Reads one line of an authorized_keys file (sshd(8)): options and a comment may be there and are dropped. DSA keys and certificates are no
 * keys to log in with and are refused.
 *
 * @throws AppError INVALID_ARGUMENT
 */
export function parseSshPublicKey(line: string): SshPublicKey {
  const text = line.trim();
  if (text.length > MAX_LINE_LENGTH || /[\r\n\0]/.test(text)) throw invalid();
  const [first = '', second = '', third = ''] = wordsOf(text);
  const [type, encoded] = Object.hasOwn(BODIES, first) ? [first, second] : [second, third];
  const body = Object.hasOwn(BODIES, type) ? BODIES[type] : undefined;
  const blob = Buffer.from(encoded, 'base64');
  const standard = blob.toString('base64');
  if (!body || blob.length === 0 || (encoded !== standard && encoded !== unpadded(standard))) throw invalid();
  const reader = new WireReader(blob);
  if (reader.bytes().toString('latin1') !== type) throw invalid();
  body(reader);
  reader.end();
  return { type, blob: standard, fingerprint: `SHA256:${unpadded(createHash('sha256').update(blob).digest('base64'))}` };
}

/**
 * The first words of a line; blanks inside double quotes, where `\"` is a quote, do not part words. A quote that is not closed goes on to the
 * end, so that nothing is read twice.
 */
function wordsOf(text: string): string[] {
  return text.match(/(?:"(?:\\.?|[^"\\])*(?:"|$)|[^\s"])+/g) ?? [];
}

function readRsa(reader: WireReader): void {
  const exponent = reader.positive();
  const bits = bitLength(reader.positive());
  const isOddExponent = ((exponent.at(-1) ?? 0) & 1) === 1 && bitLength(exponent) > 1 && bitLength(exponent) <= 64;
  if (!isOddExponent || bits < RSA_BITS.min || bits > RSA_BITS.max) throw invalid();
}

function readEd25519(reader: WireReader): void {
  if (reader.bytes().length !== ED25519_BYTES) throw invalid();
}

function readPoint(reader: WireReader, curve: keyof typeof CURVES): void {
  if (reader.bytes().toString('latin1') !== curve) throw invalid();
  const point = reader.bytes();
  const { name, bytes } = CURVES[curve];
  if (point.length !== 1 + 2 * bytes || point[0] !== 0x04) throw invalid();
  const x = point.toString('base64url', 1, 1 + bytes);
  const y = point.toString('base64url', 1 + bytes);
  try {
    // Refuses what is no point of the curve.
    createPublicKey({ key: { kty: 'EC', crv: name, x, y }, format: 'jwk' });
  } catch (cause) {
    throw invalid(cause);
  }
}

function readApplication(reader: WireReader): void {
  if (!/^ssh:[\x21-\x7e]{0,250}$/.test(reader.bytes().toString('latin1'))) throw invalid();
}

/** Reads the data types of RFC 4251, section 5. */
class WireReader {
  #rest: Buffer;

  constructor(blob: Buffer) {
    this.#rest = blob;
  }

  bytes(): Buffer {
    if (this.#rest.length < 4) throw invalid();
    const end = 4 + this.#rest.readUInt32BE(0);
    if (end > this.#rest.length) throw invalid();
    const value = this.#rest.subarray(4, end);
    this.#rest = this.#rest.subarray(end);
    return value;
  }

  /** The bytes of a positive integer in its one shortest form, without the zero that keeps it positive. */
  positive(): Buffer {
    const value = this.bytes();
    const [first = 0, second = 0] = value;
    if (value.length === 0 || first > 0x7f || (first === 0 && second < 0x80)) throw invalid();
    return first === 0 ? value.subarray(1) : value;
  }

  end(): void {
    if (this.#rest.length > 0) throw invalid();
  }
}

/** Of a number without leading zero bytes. */
const bitLength = (bytes: Buffer): number => bytes.length * 8 - Math.clz32(bytes[0] ?? 0) + 24;
const unpadded = (base64: string): string => withoutEnd(base64, '=');
const invalid = (cause?: unknown) => new AppError('INVALID_ARGUMENT', 'provided key invalid', { cause });
