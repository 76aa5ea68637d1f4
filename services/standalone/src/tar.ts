import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** A file of an archive. */
export interface TarMember {
  /** With slashes; at most 100 bytes. */
  readonly name: string;
  readonly sizeBytes: number;
  /** When it was changed, in milliseconds since 1970. */
  readonly changedAtMs: number;
  readonly content: AsyncIterable<Uint8Array>;
}

const BLOCK_BYTES = 512;
const NAME_BYTES = 100;
/** Eleven octal digits; larger sizes are written as GNU's and BSD's tar do, in base 256. */
const MAX_OCTAL = 8 ** 11 - 1;

/** An archive (ustar) of files that their owner alone may read (0600). @throws Error when a content is not as long as was said */
export async function* tarOf(members: AsyncIterable<TarMember>): AsyncGenerator<Uint8Array> {
  for await (const member of members) {
    yield headerOf(member);
    let left = member.sizeBytes;
    for await (const chunk of member.content) {
      left -= chunk.byteLength;
      yield chunk;
    }
    if (left !== 0) throw new Error(`${member.name} is not ${member.sizeBytes} bytes long`);
    yield Buffer.alloc((BLOCK_BYTES - (member.sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

/** The file as it is now; what is added later is left out. The handle is closed with the content. */
export async function memberOf(name: string, file: FileHandle): Promise<TarMember> {
  const { size, mtimeMs } = await file.stat();
  const content = size === 0 ? closing(file) : file.createReadStream({ start: 0, end: size - 1 });
  return { name, sizeBytes: size, changedAtMs: mtimeMs, content };
}

/** A file that is made for the archive. */
export function memberWith(name: string, text: string): TarMember {
  const bytes = Buffer.from(text);
  return { name, sizeBytes: bytes.byteLength, changedAtMs: Date.now(), content: Readable.from([bytes]) };
}

// biome-ignore lint/correctness/useYield: nothing is in it
async function* closing(file: FileHandle): AsyncGenerator<Uint8Array> {
  await file.close();
}

/** https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, "ustar Interchange Format". */
function headerOf({ name, sizeBytes, changedAtMs }: TarMember): Uint8Array {
  if (Buffer.byteLength(name) > NAME_BYTES) throw new Error(`${name} is too long a name for an archive`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number) => header.write(`${value.toString(8).padStart(digits, '0')}\0`, at);
  header.write(name, 0);
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (sizeBytes <= MAX_OCTAL) octal(sizeBytes, 124, 11);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(sizeBytes), 128);
  }
  octal(Math.floor(changedAtMs / 1000), 136, 11);
  // The sum is made with spaces in its own place.
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  return header;
}
