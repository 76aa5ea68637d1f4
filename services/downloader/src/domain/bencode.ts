/** One step through a bencoded value (BEP 3): a text, a number, the key of a dictionary, or the beginning or end of a list or dictionary. */
export interface BencodeToken {
  readonly kind: 'text' | 'number' | 'key' | 'list' | 'dictionary' | 'end';
  /** How many lists and dictionaries are around it. */
  readonly depth: number;
  /** Bytes [start, end) of the input: of a text or key its content, of a list or dictionary its first byte. */
  readonly start: number;
  readonly end: number;
}

const MAX_DEPTH = 32;
/** Digits of a number: no file needs more. */
const MAX_DIGITS = 19;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const MINUS = 0x2d;
const DICTIONARY = 0x64;
const END = 0x65;
const NUMBER = 0x69;
const LIST = 0x6c;

/** Walks through one value that fills the whole input. Nothing is made of it: whoever reads decides what is kept. @throws Error: it is not bencoded */
export function* bencodeTokens(input: Buffer): Generator<BencodeToken, void> {
  /** What comes next in each open list or dictionary. */
  const open: Array<'item' | 'key' | 'value'> = [];
  let at = 0;
  const fail = (): never => {
    throw new Error(`not bencoded at byte ${at}`);
  };
  /** Reads digits and the byte that ends them. */
  const digits = (end: number): number => {
    const start = at;
    let value = 0;
    for (let byte = input[at]; isDigit(byte) && at - start < MAX_DIGITS; byte = input[at]) {
      value = value * 10 + byte - DIGIT_0;
      at += 1;
    }
    if (at === start || input[at] !== end || (input[start] === DIGIT_0 && at - start > 1)) fail();
    at += 1;
    return value;
  };
  do {
    const start = at;
    const byte = input[at];
    const next = open.at(-1);
    if (byte === END && (next === 'item' || next === 'key')) {
      at += 1;
      open.pop();
      yield { kind: 'end', depth: open.length, start, end: at };
      continue;
    }
    if (next === 'key' && !isDigit(byte)) fail();
    if (next === 'key' || next === 'value') open[open.length - 1] = next === 'key' ? 'value' : 'key';
    const depth = open.length;
    if (isDigit(byte)) {
      const length = digits(COLON);
      if (at + length > input.length) fail();
      at += length;
      yield { kind: next === 'key' ? 'key' : 'text', depth, start: at - length, end: at };
    } else if (byte === NUMBER) {
      at += 1;
      const isNegative = input[at] === MINUS;
      if (isNegative) at += 1;
      if (digits(END) === 0 && isNegative) fail();
      yield { kind: 'number', depth, start, end: at };
    } else if ((byte === LIST || byte === DICTIONARY) && depth <= MAX_DEPTH) {
      at += 1;
      open.push(byte === LIST ? 'item' : 'key');
      yield { kind: byte === LIST ? 'list' : 'dictionary', depth, start, end: at };
    } else fail();
  } while (open.length > 0);
  if (at !== input.length) fail();
}

const isDigit = (byte: number | undefined): byte is number => byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9;
