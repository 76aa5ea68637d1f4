/** A generator of numbers below 1 that gives the same ones for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const MAX_NAME_BYTES = 255;

/** What names are put together from: both normal forms, letters that fold in some way, emoji, control characters, signs of query languages. */
const PARTS = [
  ...['a', 'b', 'ab', 'A', 'B', 'report', 'Report', 'ä', 'a\u0308', 'Ä', 'ß', 'ẞ', 'İ', 'ı', 'ſ', 'K', 'ς', 'Σ', '日本', '語'],
  ...[
    '😀',
    '👩‍👩‍👧',
    '\u{1f1e9}',
    '\u007f',
    '\u0085',
    '\u009f',
    '\u200d',
    '\ufeff',
    '\u00a0',
    ' ',
    '  ',
    '.',
    '..',
    '-',
    '_',
    '%',
    '*',
    '?',
    '"',
    '""',
  ],
  ...["'", '$', '^', '(', ')', '[', ']', '{', '}', '|', '+', '~', ':', ';', 'AND', 'NOT', 'NEAR', '\ufffd', 'x'.repeat(80), '0', '12'],
];

/** @param random from randomOf(). */
export function createNames(random: () => number) {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const text = (parts: number) => Array.from({ length: parts }, () => pick(PARTS)).join('');
  const shortened = (long: string): string => {
    let name = long;
    while (Buffer.byteLength(name) > MAX_NAME_BYTES) name = Array.from(name).slice(0, -1).join('');
    return name;
  };
  return {
    pick,
    /** A name of 1 to 255 bytes. */
    name(): string {
      const name = shortened(random() < 0.05 ? text(200) : text(1 + Math.floor(random() * 6)));
      return /^\.{0,2}$/.test(name) ? 'dots' : name;
    },
    /** Parts of names, or something that no name has. */
    keywords(names: readonly string[]): string {
      const word = (): string => {
        const characters = Array.from(random() < 0.8 ? pick(names) : text(2));
        const start = Math.floor(random() * characters.length);
        return characters.slice(start, start + 1 + Math.floor(random() * (random() < 0.2 ? 40 : 4))).join('');
      };
      return Array.from({ length: Math.floor(random() * 3) + (random() < 0.95 ? 1 : 0) }, word).join(pick([' ', '  ', '\t', '\u3000']));
    },
  };
}
