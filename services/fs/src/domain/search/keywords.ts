import { AppError } from '@wharf/errors';

/** Much longer than any name: nobody types more. */
const MAX_KEYWORDS_LENGTH = 4096;
const MAX_NAME_BYTES = 255;
/** White space of Unicode. */
const SPACES = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
/** No name has them, and not every index takes them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to find them is the purpose.
const CONTROLS = /[\u0000-\u001f\u007f]/;
const GRAM_LENGTH = 3;

/**
 * The words that a name must contain, folded, none of them part of another. All of their characters are plain.
 *
 * @returns undefined when no name can contain them. @throws AppError INVALID_ARGUMENT: far too long
 */
export function parseKeywords(keywords: string): readonly string[] | undefined {
  if (keywords.length > MAX_KEYWORDS_LENGTH) throw new AppError('INVALID_ARGUMENT', 'the keywords are too long');
  if (!keywords.isWellFormed()) return undefined;
  const words = [...new Set(foldCase(keywords).split(SPACES))].filter((word) => word !== '').sort((a, b) => b.length - a.length);
  if (words.some((word) => CONTROLS.test(word) || Buffer.byteLength(word) > MAX_NAME_BYTES)) return undefined;
  const needed: string[] = [];
  for (const word of words) {
    if (needed.some((longer) => longer.includes(word))) continue;
    // None is part of another, so each begins at a place of its own in a name.
    if (needed.length === MAX_NAME_BYTES) return undefined;
    needed.push(word);
  }
  return needed;
}

/** Letters of ASCII in lower case; every other character stays as it is. */
export function foldCase(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}

/** @param words folded. */
export function containsAll(name: string, words: readonly string[]): boolean {
  const folded = foldCase(name);
  return words.every((word) => folded.includes(word));
}

/** Every sequence of three characters, each once; none of shorter texts. A text that contains another has all of its grams. */
export function gramsOf(folded: string): string[] {
  const characters = Array.from(folded);
  const grams = new Set<string>();
  for (let at = 0; at + GRAM_LENGTH <= characters.length; at += 1) grams.add(characters.slice(at, at + GRAM_LENGTH).join(''));
  return [...grams];
}

/** Grams that every name with these words has, at most `limit`, spread over the words; none when all words are short. */
export function gramsOfWords(words: readonly string[], limit: number): string[] {
  const grams = [...new Set(words.flatMap(gramsOf))];
  const step = Math.max(1, grams.length / limit);
  const chosen: string[] = [];
  for (let at = 0; at < grams.length && chosen.length < limit; at += step) chosen.push(grams[Math.floor(at)] ?? '');
  return chosen;
}
