import { isMainThread } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { forgettable } from '@wharf/pace';
import { LRUCache } from 'lru-cache';
import { OwnPart } from './own-part.ts';

/** How a disk takes names. */
export interface NameTraits {
  /** `A` and `a` are two entries. */
  readonly caseSensitive: boolean;
  /** Some entries answer to more spellings than their own: another case, or the same letters composed otherwise (NFC, NFD). */
  readonly folds: boolean;
}

/** What became of an entry that was made under a name. */
export interface TriedName {
  /** It is listed with that name. */
  readonly isKept: boolean;
  /** It answers to the other name too. */
  readonly isFolded: boolean;
}

/** So many entries are enough to learn from. */
const MAX_LOOKED_AT = 1000;
/** What is kept of all folders of all storages together, in bytes, and in each of the threads for disks; a folder with more is read each time. */
const MAX_KEPT_BYTES = (isMainThread ? 24 : 8) * 1024 * 1024;
/** What a name takes beside its letters, and one of these. */
const [NAME_BYTES, LETTER_BYTES] = [64, 2];
/** FAT keeps times in steps of two seconds: a folder that changed within this time may change again without a new time on it. */
const SETTLED_AFTER_MS = 3000;

/** Judges a disk by what can be made on it. @param tryName makes an entry with the first name, and looks for the second */
export async function triedTraits(tryName: (name: string, other: string) => Promise<TriedName>): Promise<NameTraits> {
  const byCase = await tryName('Aa', 'aA');
  const byForm = await tryName('\u00e9', 'e\u0301');
  return { caseSensitive: !byCase.isFolded, folds: [byCase, byForm].some(({ isFolded, isKept }) => isFolded || !isKept) };
}

/**
 * Judges a disk by names that are on it. Where none tells, names are taken to fold: that is right on every disk and costs time only.
 *
 * @param isThere whether a name that is not listed leads to something all the same. @param maxNames so many are looked at
 */
export async function existingTraits(
  listed: Iterable<string>,
  isThere: (name: string) => boolean | Promise<boolean>,
  maxNames = MAX_LOOKED_AT,
): Promise<NameTraits> {
  const names = new Set(listed);
  const asked = spellingsToAsk(names, (name) => names.has(name), maxNames);
  const folds = asked.length === 0 || (await Promise.all(asked.map(isThere))).some(Boolean);
  return { caseSensitive: !folds, folds };
}

const keptOfAll = forgettable(
  new LRUCache<string, ReadonlySet<string>>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation(names, version) {
      let letters = version.length;
      for (const { length } of names) letters += length;
      return NAME_BYTES * (names.size + 1) + LETTER_BYTES * letters;
    },
  }),
);

/** Names of folders that rest. A name that appeared in a folder without a new version of it is looked for there: what is kept says yes, and no for a while at most. */
export class KeptNames {
  readonly #kept = new OwnPart(keptOfAll);

  hasAll(version: string, names: readonly string[]): boolean {
    const kept = this.#kept.get(version);
    return kept !== undefined && names.every((name) => kept.has(name));
  }

  /** Those of the names that a folder has not; undefined: it is not kept. */
  lackedBy(version: string, names: readonly string[]): ReadonlySet<string> | undefined {
    const kept = this.#kept.get(version);
    return kept && new Set(names.filter((name) => !kept.has(name)));
  }

  /** @param changedMs when the folder changed last. @returns false: it does not rest */
  keep(version: string, names: ReadonlySet<string>, changedMs: number): boolean {
    if (changedMs >= Date.now() - SETTLED_AFTER_MS) return false;
    this.#kept.set(version, names);
    return true;
  }
}

/** The same name with each letter in the other case; undefined for one without letters. */
function otherCase(name: string): string | undefined {
  const other = name.replace(/[a-z]|([A-Z])/g, (letter, upper) => (upper === undefined ? letter.toUpperCase() : letter.toLowerCase()));
  return other === name ? undefined : other;
}

/** The same name as one who folds names may say it: each letter in the other case, and letters composed otherwise (NFC, NFD). */
export function otherSpellings(name: string): string[] {
  const others = new Set([otherCase(name) ?? name, ...(isPlain(name) ? [] : [name.normalize('NFC'), name.normalize('NFD')])]);
  others.delete(name);
  return [...others];
}

/** Other spellings of a folder's names, by which it is found out whether it folds names. @param isListed what is there by itself tells nothing */
export function spellingsToAsk(listed: Iterable<string>, isListed: (name: string) => boolean, maxNames: number): string[] {
  return tellingNames(listed, maxNames)
    .flatMap(otherSpellings)
    .filter((other) => !isListed(other));
}

/** Those of a folder's first names that tell most in other spellings. Up to a half are such as can be composed otherwise. */
function tellingNames(listed: Iterable<string>, maxNames: number): string[] {
  const composed: string[] = [];
  const others: string[] = [];
  let looked = 0;
  for (const name of listed) {
    const isComposed = !isPlain(name) && (name.normalize('NFC') !== name || name.normalize('NFD') !== name);
    if (isComposed && composed.length < maxNames / 2) composed.push(name);
    else if (others.length < maxNames && otherSpellings(name).length > 0) others.push(name);
    looked += 1;
    if (looked === MAX_LOOKED_AT) break;
  }
  return [...composed, ...others].slice(0, maxNames);
}

/** Nothing of it can be composed otherwise. */
function isPlain(name: string): boolean {
  return /^[ -~]*$/.test(name);
}

/** A driver that knows names by their own spelling only must not open such a storage: rules on paths would be passed by in other spellings. */
export function foldsCase(): AppError {
  return new AppError(
    'FAILED_PRECONDITION',
    'this server does not tell upper from lower case, or NFC from NFD: path rules would not hold, so it is not mounted. Use a folder or a bucket that does',
  );
}
