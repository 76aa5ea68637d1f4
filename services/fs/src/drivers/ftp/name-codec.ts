import { AppError } from '@wharf/errors';
import iconv from 'iconv-lite';
import { storageError } from '../../driver-contract/storage-error.ts';

/** Between names and what the server has for them. Texts of bytes have one character for each byte (latin1). */
export interface NameCodec {
  readonly isUtf8: boolean;
  /** @throws AppError INVALID_ARGUMENT: the character set has no such name, or a command cannot say it */
  toBytes(name: string): Buffer;
  /** Whether it has that name. */
  canSay(name: string): boolean;
  /** Undefined for bytes that no name of ours leads back to. */
  fromBytes(bytes: string): string | undefined;
}

/** Ends a line, or a text; 0xff begins a command of Telnet, which FTP is spoken in. */
const UNSAYABLE = [0x00, 0x0a, 0x0d, 0xff];

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function nameCodec(encoding: string): NameCodec {
  if (!iconv.encodingExists(encoding)) throw new AppError('INVALID_ARGUMENT', `encoding ${encoding} is not known`);
  // A mark of the byte order has no place in a name, and one that is there belongs to it.
  const encode = (text: string) => iconv.encode(text, encoding, { addBOM: false });
  const decode = (bytes: Buffer) => iconv.decode(bytes, encoding, { stripBOM: false });
  if (encode('/').toString('latin1') !== '/') throw new AppError('INVALID_ARGUMENT', `encoding ${encoding} cannot be used for paths`);
  const sayable = (name: string) => {
    const bytes = encode(name);
    return decode(bytes) === name && !UNSAYABLE.some((byte) => bytes.includes(byte)) ? bytes : undefined;
  };
  return {
    isUtf8: /^utf-?8$/i.test(encoding),
    toBytes(name) {
      const bytes = sayable(name);
      if (bytes === undefined) throw storageError('INVALID_ARGUMENT');
      return bytes;
    },
    canSay: (name) => sayable(name) !== undefined,
    fromBytes(text) {
      const bytes = Buffer.from(text, 'latin1');
      const name = decode(bytes);
      return encode(name).equals(bytes) ? name : undefined;
    },
  };
}
