/** The parts of a pattern, the longest first. */
const TOKENS = /\/\*\*\/|\/\*\*$|^\*\*\/|\*\*|\*|\?|\{|\}|,|\[!?[^\]/]+\]|\\.|[\s\S]/gu;
/** What stands in `[a-z]`: characters, and ranges of them. */
const RANGES = /(\\?.)(?:-(\\?.))?/gsu;
/** In a class it is no character of its own: the last backslash, and `\d`, which would be more than one. */
const NO_CHARACTER = /^\\[a-z\d]?$/i;

/** Characters: the first and the last of each range, one behind the other; all others where `isIn` is false. */
interface Class {
  readonly ranges: readonly number[];
  readonly isIn: boolean;
}

const SLASH: Class = { ranges: [0x2f, 0x2f], isIn: true };
const NO_SLASH: Class = { ...SLASH, isIn: false };
const ANY: Class = { ranges: [], isIn: false };

/** How far a pattern has come in a path. */
interface Walk {
  readonly chars: Int32Array;
  /** By the number of characters before it: 1 for each place that the pattern may have come to. */
  places: Uint8Array;
  /** Of each `{` that is open: where it began, and where its alternatives so far have ended. */
  readonly open: { readonly begun: Uint8Array; readonly ended: Uint8Array }[];
}

/**
 * Tells which patterns fit a whole path: `*` and `?` stay within a segment, `**` goes across, `[a-z]`, `[!a-z]` and `{one,two}` are alternatives.
 * What is no pattern fits nothing. It takes as long as the pattern's length times the path's, whatever they are.
 */
export function createPathMatch(path: string): (pattern: string) => boolean {
  const chars = Int32Array.from(path, codeOf);
  return (pattern) => {
    const walk: Walk = { chars, places: new Uint8Array(chars.length + 1), open: [] };
    walk.places[0] = 1;
    // A pattern may leave the first slash out.
    if (!pattern.startsWith('/') && !pattern.startsWith('**')) take(walk, SLASH);
    for (const [token] of pattern.matchAll(TOKENS)) {
      if (!follow(walk, token)) return false;
      if (walk.open.length === 0 && !walk.places.includes(1)) return false;
    }
    return walk.open.length === 0 && walk.places.at(-1) === 1;
  };
}

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

/** @returns false: it is no pattern */
function follow(walk: Walk, token: string): boolean {
  switch (token) {
    case '/**/':
    case '**/':
      take(walk, SLASH);
      orElse(walk, () => {
        takeAll(walk, ANY);
        take(walk, SLASH);
      });
      return true;
    case '/**':
      orElse(walk, () => {
        take(walk, SLASH);
        takeAll(walk, ANY);
      });
      return true;
    case '**':
      takeAll(walk, ANY);
      return true;
    case '*':
      takeAll(walk, NO_SLASH);
      return true;
    case '?':
      take(walk, NO_SLASH);
      return true;
    case '{':
      walk.open.push({ begun: walk.places.slice(), ended: new Uint8Array(walk.places.length) });
      return true;
    case '}':
      return endAlternative(walk, walk.open.pop());
  }
  const alternatives = token === ',' ? walk.open.at(-1) : undefined;
  if (alternatives) {
    endAlternative(walk, alternatives);
    walk.places = alternatives.begun.slice();
    return true;
  }
  const read =
    token.length > 1 && token.startsWith('[') ? readClass(token) : classOf(token.startsWith('\\') ? token.slice(1) || token : token);
  if (read) take(walk, read);
  return read !== undefined;
}

function classOf(char: string): Class {
  return { ranges: [codeOf(char), codeOf(char)], isIn: true };
}

/** Undefined: it is none, as a range whose end is before its beginning. */
function readClass(token: string): Class | undefined {
  const isIn = !/^\[[!^]/.test(token);
  const ranges: number[] = [];
  for (const [, first = '', last = first] of token.slice(isIn ? 1 : 2, -1).matchAll(RANGES)) {
    const [from, to] = [first, last].map((char) => codeOf(char.slice(char.length > 1 && char.startsWith('\\') ? 1 : 0))) as [
      number,
      number,
    ];
    if (NO_CHARACTER.test(first) || NO_CHARACTER.test(last) || from > to) return undefined;
    ranges.push(from, to);
  }
  return ranges.length === 0 ? undefined : { ranges, isIn };
}

/** From each place, on by one character of the class. */
function take({ chars, places }: Walk, { ranges, isIn }: Class): void {
  for (let at = chars.length; at > 0; at -= 1) places[at] = places[at - 1] === 1 && isAmong(ranges, chars[at - 1] ?? 0) === isIn ? 1 : 0;
  places[0] = 0;
}

/** From each place, on by any number of characters of the class. */
function takeAll({ chars, places }: Walk, { ranges, isIn }: Class): void {
  for (let at = 0; at < chars.length; at += 1) if (places[at] === 1 && isAmong(ranges, chars[at] ?? 0) === isIn) places[at + 1] = 1;
}

/** Either nothing more, or what `goOn` takes. */
function orElse(walk: Walk, goOn: () => void): void {
  const before = walk.places.slice();
  goOn();
  add(walk.places, before);
}

/** @returns false: there was none */
function endAlternative(walk: Walk, alternatives: Walk['open'][number] | undefined): boolean {
  if (!alternatives) return false;
  add(alternatives.ended, walk.places);
  walk.places = alternatives.ended;
  return true;
}

function add(places: Uint8Array, others: Uint8Array): void {
  for (let at = 0; at < others.length; at += 1) if (others[at] === 1) places[at] = 1;
}

function isAmong(ranges: readonly number[], char: number): boolean {
  for (let at = 0; at < ranges.length; at += 2) if (char >= (ranges[at] ?? 0) && char <= (ranges[at + 1] ?? 0)) return true;
  return false;
}
