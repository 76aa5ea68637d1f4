/** How deep and how large a value may be. */
export interface JsonBounds {
  /** A value that is nested deeper takes a deep recursion to read and to write out. */
  readonly maxDepth: number;
  /** More values in one text keep others waiting, and need a hundred times the memory of their text. */
  readonly maxValues: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** Which bound a text would break as JSON: see countJson(). */
export function brokenBound(bytes: Uint8Array, bounds: JsonBounds): keyof JsonBounds | undefined {
  return countJson(bytes, bounds).broken;
}

/**
 * How many values a text has as JSON, and which bound it would break, counted before anything is made of it: parsing cannot be divided.
 *
 * @param bytes UTF-8; what is no JSON is counted as if it were. @returns of a text that breaks a bound the values before that
 */
export function countJson(bytes: Uint8Array, { maxDepth, maxValues }: JsonBounds): { values: number; broken?: keyof JsonBounds } {
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
      if (depth > maxDepth) return { values, broken: 'maxDepth' };
    } else if (isClosing(byte)) depth -= 1;
    if (values > maxValues) return { values, broken: 'maxValues' };
  }
  return { values };
}

/** `[` and `{`. */
const isOpening = (byte: number | undefined) => byte === 0x5b || byte === 0x7b;
/** `]` and `}`. */
const isClosing = (byte: number | undefined) => byte === 0x5d || byte === 0x7d;
