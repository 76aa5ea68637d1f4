/** A value of bencoding (BEP 3). Texts are bytes: names need not be UTF-8. */
export type Bencoded = number | Buffer | Bencoded[] | ReadonlyMap<string, Bencoded>;

const MAX_DEPTH = 32;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Reads one value that fills the whole input, and where the value of `info` in the outermost dictionary stands. @throws Error */
export function decodeBencode(input: Buffer): { value: Bencoded; info: Buffer | undefined } {
  let at = 0;
  let info: Buffer | undefined;
  const fail = (): never => {
    throw new Error(`not bencoded at byte ${at}`);
  };
  const integerUntil = (end: number): number => {
    const stop = input.indexOf(end, at);
    const text = stop === -1 || stop - at > 20 ? '' : input.toString('latin1', at, stop);
    if (!/^(?:0|-?[1-9]\d*)$/.test(text)) fail();
    at = stop + 1;
    return Number(text);
  };
  const bytes = (): Buffer => {
    const length = integerUntil(0x3a);
    if (length < 0 || at + length > input.length) fail();
    const found = input.subarray(at, at + length);
    at += length;
    return found;
  };
  const read = (depth: number): Bencoded => {
    if (depth > MAX_DEPTH) fail();
    const byte = input[at];
    if (byte === 0x69) {
      at += 1;
      return integerUntil(0x65);
    }
    if (byte === 0x6c) {
      at += 1;
      const list: Bencoded[] = [];
      while (input[at] !== 0x65) list.push(read(depth + 1));
      at += 1;
      return list;
    }
    if (byte === 0x64) {
      at += 1;
      const map = new Map<string, Bencoded>();
      while (input[at] !== 0x65) {
        const key = bytes().toString('latin1');
        const start = at;
        map.set(key, read(depth + 1));
        if (depth === 0 && key === 'info') info = input.subarray(start, at);
      }
      at += 1;
      return map;
    }
    return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9 ? bytes() : fail();
  };
  const value = read(0);
  if (at !== input.length) fail();
  return { value, info };
}
