import { isGif, readGifSize } from './gif-frame.ts';

/** What the first bytes of a picture say of it, before anything is decoded. */
export interface ImageHeader {
  readonly format: 'png' | 'jpeg' | 'gif' | 'bmp' | 'webp' | 'tiff' | 'ico';
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Of the decoded picture. */
  readonly bytesPerPixel: number;
}

type Size = Omit<ImageHeader, 'format'>;

const READERS: ReadonlyArray<readonly [ImageHeader['format'], (bytes: Buffer) => Size | undefined]> = [
  ['png', readPng],
  ['jpeg', readJpeg],
  ['gif', (bytes) => (isGif(bytes) ? { ...readGifSize(bytes), bytesPerPixel: 4 } : undefined)],
  ['bmp', readBmp],
  ['webp', readWebp],
  ['tiff', readTiff],
  ['ico', readIco],
];

/**
 * The size of a picture by its own bytes, whatever the file is called. Undefined for what is no picture of these formats or does not say its
 * size where the format wants it.
 */
export function readImageHeader(content: Uint8Array): ImageHeader | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  for (const [format, read] of READERS) {
    const size = attempt(() => read(bytes));
    if (size !== undefined) return size.width > 0 && size.height > 0 ? { format, ...size } : undefined;
  }
  return undefined;
}

/** A read behind the end is what Buffer throws for: the picture is cut off. */
function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Samples of a pixel by the colour type (PNG, section 11.2.1). */
const PNG_SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 4, 4: 2, 6: 4 };

function readPng(bytes: Buffer): Size | undefined {
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n' || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  const samples = PNG_SAMPLES[bytes.readUInt8(25)] ?? 4;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), bytesPerPixel: samples * (bytes.readUInt8(24) > 8 ? 2 : 1) };
}

/** Segments and fill bytes before the frame header: real pictures have a few dozen, also with profiles cut into pieces of 64 KiB. */
const MAX_MARKERS = 2_000;

/** Goes from marker to marker up to the frame header (ITU T.81, annex B). */
function readJpeg(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2, seen = 0; seen < MAX_MARKERS; seen += 1) {
    if (bytes.readUInt8(at) !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0xd9 || marker === 0xda) return undefined;
    if (isFrameHeader(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), bytesPerPixel: Math.max(bytes.readUInt8(at + 9), 1) };
    }
    at += 2 + (hasNoLength(marker) ? 0 : Math.max(bytes.readUInt16BE(at + 2), 2));
  }
  return undefined;
}

function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function hasNoLength(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

function readBmp(bytes: Buffer): Size | undefined {
  if (bytes.toString('latin1', 0, 2) !== 'BM') return undefined;
  return readDib(bytes, 14);
}

function readDib(bytes: Buffer, at: number): Size {
  if (bytes.readUInt32LE(at) === 12) return { width: bytes.readUInt16LE(at + 4), height: bytes.readUInt16LE(at + 6), bytesPerPixel: 4 };
  return { width: Math.abs(bytes.readInt32LE(at + 4)), height: Math.abs(bytes.readInt32LE(at + 8)), bytesPerPixel: 4 };
}

/** RFC 9649 section 2. */
function readWebp(bytes: Buffer): Size | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  const bytesPerPixel = 4;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff, bytesPerPixel };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, bytesPerPixel };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, bytesPerPixel };
    default:
      return undefined;
  }
}

const TIFF_TAG = { width: 256, height: 257, bitsPerSample: 258, samplesPerPixel: 277 } as const;
const TIFF_SHORT = 3;
const TIFF_LONG = 4;

/** The first directory (TIFF 6.0, section 2). */
function readTiff(bytes: Buffer): Size | undefined {
  const order = bytes.toString('latin1', 0, 4);
  const isLittle = order === 'II*\0';
  if (!isLittle && order !== 'MM\0*') return undefined;
  const short = (at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const long = (at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const directory = long(4);
  const values = new Map<number, number>();
  for (let index = 0; index < short(directory); index += 1) {
    const at = directory + 2 + 12 * index;
    const [tag, type, count] = [short(at), short(at + 2), long(at + 4)];
    if (type === TIFF_LONG) values.set(tag, long(at + 8));
    // More than two shorts do not fit into the entry: it has the place of the first then.
    if (type === TIFF_SHORT) values.set(tag, short(count > 2 ? long(at + 8) : at + 8));
  }
  const bits = (values.get(TIFF_TAG.bitsPerSample) ?? 8) * Math.max(values.get(TIFF_TAG.samplesPerPixel) ?? 1, 1);
  return {
    width: values.get(TIFF_TAG.width) ?? 0,
    height: values.get(TIFF_TAG.height) ?? 0,
    bytesPerPixel: Math.max(Math.ceil(bits / 8), 1),
  };
}

const MAX_ICONS = 64;

/** The size of the largest picture in the file. It is read from the picture itself, because the index may say another size. */
function readIco(bytes: Buffer): Size | undefined {
  if (bytes.length < 6 || bytes.readUInt32LE(0) !== 0x0001_0000) return undefined;
  const count = bytes.readUInt16LE(4);
  if (count === 0 || count > MAX_ICONS) return undefined;
  let [width, height] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    const at = bytes.readUInt32LE(6 + 16 * index + 12);
    const size = readPng(bytes.subarray(at)) ?? readDib(bytes, at);
    width = Math.max(width, size.width);
    height = Math.max(height, size.height);
  }
  return { width, height, bytesPerPixel: 4 };
}
