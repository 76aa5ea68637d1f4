/** Values as cameras write them: texts, and fractions of two whole numbers. */
type Value = string | number | readonly (readonly [number, number])[];

const WORDS = { ascii: 2, long: 4, rational: 5 } as const;
/** Of Exif 2.32, table 4 and following. */
const EXIF_FOLDER = 0x8769;
const GPS_FOLDER = 0x8825;

/** A JPEG as a camera would have written it: the picture with its Exif block behind the first mark. */
export function withExif(jpeg: Buffer): Buffer {
  const gps: readonly (readonly [number, Value])[] = [
    [1, 'N'],
    [2, degrees(47, 30, 0)],
    [3, 'E'],
    [4, degrees(9, 15, 0)],
  ];
  const exif: readonly (readonly [number, Value])[] = [
    [0x829a, [[1, 250]]],
    [0x829d, [[28, 10]]],
    [0x8827, 200],
    [0x9003, '2026:06:03 10:15:20'],
    [0x920a, [[35, 1]]],
    [0xa434, 'Wide 35'],
  ];
  const main: readonly (readonly [number, Value])[] = [
    [0x010f, 'Lake'],
    [0x0110, 'Lake One'],
    [EXIF_FOLDER, 0],
    [GPS_FOLDER, 0],
  ];
  const mainAt = 8;
  const exifAt = mainAt + folder(main, mainAt).length;
  const gpsAt = exifAt + folder(exif, exifAt).length;
  const pointed = main.map(([tag, value]) => [tag, tag === EXIF_FOLDER ? exifAt : tag === GPS_FOLDER ? gpsAt : value] as const);
  const head = Buffer.from([0x49, 0x49, 42, 0, mainAt, 0, 0, 0]);
  const block = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), head, folder(pointed, mainAt), folder(exif, exifAt), folder(gps, gpsAt)]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(block.length + 2);
  return Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, block, jpeg.subarray(2)]);
}

const degrees = (...parts: readonly number[]) => parts.map((part) => [part, 1] as const);

/** A list of values that begins at `start` of the block; what takes more than four bytes stands behind it. */
function folder(values: readonly (readonly [number, Value])[], start: number): Buffer {
  const rows = Buffer.alloc(2 + values.length * 12 + 4);
  rows.writeUInt16LE(values.length, 0);
  let behind = Buffer.alloc(0);
  for (const [index, [tag, value]] of values.entries()) {
    const at = 2 + index * 12;
    const { type, count, bytes } = bytesOf(value);
    rows.writeUInt16LE(tag, at);
    rows.writeUInt16LE(type, at + 2);
    rows.writeUInt32LE(count, at + 4);
    if (bytes.length <= 4) bytes.copy(rows, at + 8);
    else {
      rows.writeUInt32LE(start + rows.length + behind.length, at + 8);
      behind = Buffer.concat([behind, bytes]);
    }
  }
  return Buffer.concat([rows, behind]);
}

function bytesOf(value: Value): { type: number; count: number; bytes: Buffer } {
  if (typeof value === 'string') {
    const bytes = Buffer.from(`${value}\0`, 'latin1');
    return { type: WORDS.ascii, count: bytes.length, bytes };
  }
  const numbers = typeof value === 'number' ? [value] : value.flat();
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32LE(number, index * 4);
  return typeof value === 'number' ? { type: WORDS.long, count: 1, bytes } : { type: WORDS.rational, count: value.length, bytes };
}
