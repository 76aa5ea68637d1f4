/** A decoded picture: four bytes a pixel (red, green, blue, alpha), row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

export function isGif(bytes: Buffer): boolean {
  const mark = bytes.toString('latin1', 0, 6);
  return mark === 'GIF87a' || mark === 'GIF89a';
}

/** @throws RangeError when the file is cut off */
export function readGifSize(bytes: Buffer): { width: number; height: number } {
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

const EXTENSION = 0x21;
const IMAGE = 0x2c;
const GRAPHIC_CONTROL = 0xf9;
const HAS_COLORS = 0x80;
const INTERLACED = 0x40;
/** First row and step of the four passes (GIF89a, appendix E). */
const PASSES = [
  [0, 8],
  [4, 8],
  [2, 4],
  [1, 2],
] as const;

/** The first frame of a GIF on a transparent canvas. What is cut off stays transparent. @throws RangeError for a file without a frame */
export function decodeFirstFrame(bytes: Buffer): Pixels {
  const { width, height } = readGifSize(bytes);
  const rgba = new Uint8Array(width * height * 4);
  const flags = bytes.readUInt8(10);
  const globalColors = flags & HAS_COLORS ? colorsAt(bytes, 13, flags) : undefined;
  let at = 13 + (globalColors?.length ?? 0);
  let transparent = -1;
  for (;;) {
    const block = bytes.readUInt8(at);
    if (block === EXTENSION) {
      if (bytes.readUInt8(at + 1) === GRAPHIC_CONTROL && bytes.readUInt8(at + 3) & 1) transparent = bytes.readUInt8(at + 6);
      at = joinBlocks(bytes, at + 2).end;
    } else if (block === IMAGE) {
      break;
    } else throw new RangeError('no frame');
  }
  const frame = {
    left: bytes.readUInt16LE(at + 1),
    top: bytes.readUInt16LE(at + 3),
    width: bytes.readUInt16LE(at + 5),
    height: bytes.readUInt16LE(at + 7),
  };
  // The canvas is what was checked before.
  if (frame.width * frame.height > width * height) throw new RangeError('a frame larger than its canvas');
  const frameFlags = bytes.readUInt8(at + 9);
  const localColors = frameFlags & HAS_COLORS ? colorsAt(bytes, at + 10, frameFlags) : undefined;
  const colors = localColors ?? globalColors ?? Buffer.alloc(0);
  at += 10 + (localColors?.length ?? 0);
  const minCodeSize = bytes.readUInt8(at);
  const indexes = decompress(joinBlocks(bytes, at + 1).data, minCodeSize, frame.width * frame.height);
  const rows = frameFlags & INTERLACED ? interlacedRows(frame.height) : undefined;
  for (let position = 0; position < indexes.length; position += 1) {
    const row = Math.floor(position / frame.width);
    const x = frame.left + (position % frame.width);
    const y = frame.top + (rows?.[row] ?? row);
    const index = indexes[position] ?? 0;
    if (x >= width || y >= height || index === transparent) continue;
    const target = (y * width + x) * 4;
    rgba[target] = colors[index * 3] ?? 0;
    rgba[target + 1] = colors[index * 3 + 1] ?? 0;
    rgba[target + 2] = colors[index * 3 + 2] ?? 0;
    rgba[target + 3] = 255;
  }
  return { width, height, rgba };
}

function colorsAt(bytes: Buffer, at: number, flags: number): Buffer {
  return bytes.subarray(at, at + 3 * 2 ** ((flags & 7) + 1));
}

/** The data of a chain of blocks, and where it ends. A chain that is cut off ends with the file. */
function joinBlocks(bytes: Buffer, start: number): { data: Buffer; end: number } {
  const parts: Buffer[] = [];
  let at = start;
  for (let size = bytes[at] ?? 0; size > 0; size = bytes[at] ?? 0) {
    parts.push(bytes.subarray(at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { data: Buffer.concat(parts), end: at + 1 };
}

function interlacedRows(height: number): number[] {
  return PASSES.flatMap(([first, step]) =>
    Array.from({ length: Math.max(Math.ceil((height - first) / step), 0) }, (_, n) => first + n * step),
  );
}

const MAX_CODES = 4096;

/** LZW with codes of growing width (GIF89a, appendix F). @returns as many colour indexes as there are, `count` at most */
function decompress(data: Buffer, minCodeSize: number, count: number): Uint8Array {
  if (minCodeSize < 1 || minCodeSize > 11) throw new RangeError('no code size');
  const clear = 1 << minCodeSize;
  const end = clear + 1;
  const prefixes = new Uint16Array(MAX_CODES);
  const suffixes = new Uint8Array(MAX_CODES);
  const lengths = new Uint16Array(MAX_CODES);
  for (let code = 0; code < clear; code += 1) {
    suffixes[code] = code;
    lengths[code] = 1;
  }
  const output = new Uint8Array(count);
  let [written, next, width, previous, first] = [0, end + 1, minCodeSize + 1, -1, 0];
  let [bits, bitCount] = [0, 0];
  /** Writes the string of a code from its end, and answers its first index. */
  const write = (code: number): number => {
    const length = lengths[code] ?? 0;
    let at = code;
    for (let index = written + length - 1; index >= written; index -= 1) {
      if (index < count) output[index] = suffixes[at] ?? 0;
      if (index === written) break;
      at = prefixes[at] ?? 0;
    }
    written += length;
    return suffixes[at] ?? 0;
  };
  for (const byte of data) {
    bits |= byte << bitCount;
    bitCount += 8;
    while (bitCount >= width && written < count) {
      const code = bits & ((1 << width) - 1);
      bits >>>= width;
      bitCount -= width;
      if (code === end) return output.subarray(0, Math.min(written, count));
      if (code === clear) {
        [next, width, previous] = [end + 1, minCodeSize + 1, -1];
        continue;
      }
      if (code > next || (code === next && previous === -1)) throw new RangeError('no such code');
      const isKnown = code < next;
      if (previous !== -1 && next < MAX_CODES) {
        // A code that is being defined begins as the one before does.
        prefixes[next] = previous;
        lengths[next] = (lengths[previous] ?? 0) + 1;
        suffixes[next] = isKnown ? firstOf(prefixes, lengths, suffixes, code) : first;
        next += 1;
        if (next === 1 << width && width < 12) width += 1;
      }
      first = write(code);
      previous = code;
    }
    if (written >= count) break;
  }
  return output.subarray(0, Math.min(written, count));
}

function firstOf(prefixes: Uint16Array, lengths: Uint16Array, suffixes: Uint8Array, code: number): number {
  let at = code;
  while ((lengths[at] ?? 1) > 1) at = prefixes[at] ?? 0;
  return suffixes[at] ?? 0;
}
