import { crc32, deflateSync } from 'node:zlib';

/** A PNG in one colour. */
export function pngOf(width: number, height: number, [red, green, blue]: readonly [number, number, number] = [200, 30, 60]): Buffer {
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(width * 3, Buffer.of(red, green, blue))]);
  return png(width, height, deflateSync(Buffer.concat(Array.from({ length: height }, () => row))));
}

/** A PNG that says it has this size, with next to nothing in it. */
export function bombOf(width: number, height: number): Buffer {
  return png(width, height, deflateSync(Buffer.alloc(64)));
}

function png(width: number, height: number, data: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/** A GIF of colour indexes below 2 to the power of `bits`, whose colours are shades of grey: index times 16. */
export function gifOf(
  width: number,
  height: number,
  indexes: readonly number[],
  options: { bits?: number; isInterlaced?: boolean } = {},
): Buffer {
  const { bits = 4, isInterlaced = false } = options;
  const head = Buffer.alloc(13);
  head.write('GIF89a', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  head.writeUInt8(0x80 | (bits - 1), 10);
  const colors = Buffer.from(Array.from({ length: 2 ** bits }, (_, index) => [index * 16, index * 16, index * 16]).flat());
  const image = Buffer.alloc(10);
  image.writeUInt8(0x2c, 0);
  image.writeUInt16LE(width, 5);
  image.writeUInt16LE(height, 7);
  image.writeUInt8(isInterlaced ? 0x40 : 0, 9);
  const data = compress(indexes, bits);
  const blocks: Buffer[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.subarray(at, at + 255);
    blocks.push(Buffer.of(block.length), block);
  }
  return Buffer.concat([head, colors, image, Buffer.of(bits), ...blocks, Buffer.of(0, 0x3b)]);
}

function compress(indexes: readonly number[], bits: number): Buffer {
  const clear = 1 << bits;
  const bytes: number[] = [];
  let [pending, pendingBits] = [0, 0];
  let width = bits + 1;
  let next = clear + 2;
  let codes = new Map<string, number>();
  const emit = (code: number) => {
    pending |= code << pendingBits;
    for (pendingBits += width; pendingBits >= 8; pendingBits -= 8) {
      bytes.push(pending & 0xff);
      pending >>>= 8;
    }
  };
  const codeOf = (text: string) => codes.get(text) ?? Number(text);
  emit(clear);
  let known = '';
  for (const index of indexes) {
    const longer = known === '' ? String(index) : `${known},${index}`;
    if (known === '' || codes.has(longer)) {
      known = longer;
      continue;
    }
    emit(codeOf(known));
    if (next < 4096) {
      if (next === 1 << width) width += 1;
      codes.set(longer, next++);
    } else {
      emit(clear);
      codes = new Map();
      width = bits + 1;
      next = clear + 2;
    }
    known = String(index);
  }
  emit(codeOf(known));
  if (next === 1 << width && width < 12) width += 1;
  emit(clear + 1);
  bytes.push(pending & 0xff);
  return Buffer.from(bytes);
}
