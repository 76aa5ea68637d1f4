import { AppError } from '@wharf/errors';

/** A value that is nested deeper takes a deep recursion to read and to write out. */
const MAX_DEPTH = 64;
/** More values in one text keep others waiting, and need a hundred times the memory of their text. */
const MAX_VALUES = 50_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/**
 * Parses JSON whose depth and number of values are bounded; both are counted before anything is made of it.
 *
 * @param bytes UTF-8. @param refusal is said about what is no JSON.
 * @throws AppError INVALID_ARGUMENT
 */
export function parseJson(bytes: Uint8Array, refusal: string): unknown {
  requireBounded(bytes);
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', refusal, { cause });
  }
}

/** @throws AppError INVALID_ARGUMENT when a text would be too deep or too many values as JSON */
export function requireBounded(bytes: Uint8Array): void {
  let depth = 0;
  let values = 1;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) {
      if (byte === BACKSLASH) at += 1;
    } else if (byte === COMMA) values += 1;
    else if (isOpening(byte)) {
      depth += 1;
      values += 1;
      if (depth > MAX_DEPTH) throw new AppError('INVALID_ARGUMENT', 'the body is nested too deeply');
    } else if (isClosing(byte)) depth -= 1;
    if (values > MAX_VALUES) throw new AppError('INVALID_ARGUMENT', `the body has more than ${MAX_VALUES} values`);
  }
}

/** `[` and `{`. */
const isOpening = (byte: number | undefined) => byte === 0x5b || byte === 0x7b;
/** `]` and `}`. */
const isClosing = (byte: number | undefined) => byte === 0x5d || byte === 0x7d;
