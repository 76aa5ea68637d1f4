const LATIN1 = /^[\0-\xff]*$/;

/** In which V8 keeps a text, and it can be kept elsewhere without loss. */
export function encodingOf(text: string): 'latin1' | 'utf16le' {
  return LATIN1.test(text) ? 'latin1' : 'utf16le';
}

/** What it takes of memory. */
export function textBytes(text: string): number {
  return encodingOf(text) === 'latin1' ? text.length : 2 * text.length;
}

/**
 * The text in memory of its own, for whatever outlives what it was read from. V8 makes a part of a text by pointing into it: what keeps a name of a path would keep the path, of 4 KiB, and what
 * keeps one of an answer the piece of the answer, of 32 KiB. A text that is put together of parts keeps them so, also as a key of a Map.
 */
export function ownText(text: string): string {
  const encoding = encodingOf(text);
  return Buffer.from(text, encoding).toString(encoding);
}
