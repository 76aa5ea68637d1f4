import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NAMES_PER_FOLDER = 1_000;
const CONSONANTS = 'bdfgklmnprstvz';
const VOWELS = 'aeiou';
const EXTENSIONS = ['jpg', 'mp4', 'pdf', 'txt', 'flac'];

/** Numbers below `limit` that look random and are the same in each run. */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function wordFrom(next: (limit: number) => number): string {
  const syllables = 2 + next(3);
  return Array.from({ length: syllables }, () => `${CONSONANTS[next(CONSONANTS.length)]}${VOWELS[next(VOWELS.length)]}`).join('');
}

/** Makes that many names below a folder: links to one file for each folder, since a search looks at nothing but names. */
export function makeNameTree(path: string, count: number): void {
  const next = numbersFrom(7);
  for (let start = 0; start < count; start += NAMES_PER_FOLDER) {
    const folder = join(path, `${wordFrom(next)} ${start / NAMES_PER_FOLDER}`);
    mkdirSync(folder, { recursive: true });
    const first = join(folder, '.first');
    writeFileSync(first, '');
    for (let name = start; name < Math.min(start + NAMES_PER_FOLDER, count); name += 1)
      linkSync(first, join(folder, `${wordFrom(next)} ${wordFrom(next)} ${name}.${EXTENSIONS[next(EXTENSIONS.length)]}`));
  }
}

/** Words of four letters, of which each is in some of the names. */
export function wordsToFind(count: number): string[] {
  const next = numbersFrom(11);
  return Array.from({ length: count }, () => wordFrom(next).slice(0, 4));
}
