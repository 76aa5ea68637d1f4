import { decode as decode32768, encode as encode32768 } from 'base32768';
import type { NameEncoding } from './config.ts';

/** Bytes as a text that can be a name, and back. */
interface Codec {
  encode(bytes: Uint8Array): string;
  /** Undefined: nothing that encode() makes. */
  decode(text: string): Buffer | undefined;
}

const DIGITS = '0123456789abcdefghijklmnopqrstuv';

/** Lower-case base32hex without padding; letters of any case are read. */
const base32: Codec = {
  encode(bytes) {
    let [text, rest, bits] = ['', 0, 0];
    for (const byte of bytes) {
      rest = (rest << 8) | byte;
      for (bits += 8; bits >= 5; bits -= 5) text += DIGITS[(rest >> (bits - 5)) & 31];
      rest &= 0xff;
    }
    return bits === 0 ? text : text + DIGITS[(rest << (5 - bits)) & 31];
  },
  decode(text) {
    const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
    let [length, rest, bits] = [0, 0, 0];
    for (const letter of text.toLowerCase()) {
      const value = DIGITS.indexOf(letter);
      if (value === -1) return undefined;
      rest = ((rest << 5) | value) & 0xfff;
      bits += 5;
      if (bits < 8) continue;
      bits -= 8;
      bytes[length++] = rest >> bits;
    }
    return length === bytes.length ? bytes : undefined;
  },
};

const base64: Codec = {
  encode: (bytes) => Buffer.from(bytes).toString('base64url'),
  decode: (text) => (/^[\w-]*$/.test(text) ? Buffer.from(text, 'base64url') : undefined),
};

const base32768: Codec = {
  encode: (bytes) => encode32768(bytes),
  decode(text) {
    try {
      return Buffer.from(decode32768(text));
    } catch {
      return undefined;
    }
  },
};

export const NAME_CODECS: Readonly<Record<NameEncoding, Codec>> = { base32, base64, base32768 };
