import { createPace, sortInTurns } from '@wharf/pace';
import { compareNames, type EntryName, isEntryName } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import type { StrmSettings } from './config.ts';

const STRM = '.strm';

/** An entry of a folder below, and by which name it is shown. */
export interface Shown<Source extends { readonly entry: Entry }> {
  readonly name: EntryName;
  readonly source: Source;
  /** A file with an address stands for it. */
  readonly isStrm: boolean;
}

type Kinds = Pick<StrmSettings, 'shown' | 'media' | 'minBytes'>;

/**
 * What is shown of a folder: folders and files of the shown kinds under their own names, media under their names with another ending. Where two have
 * one name then, the first one in byte order has it, and the others keep their own ending before the new one. The rest is hidden.
 */
export async function shownNames<Source extends { readonly entry: Entry }>(
  sources: readonly Source[],
  kinds: Kinds,
  signal: AbortSignal | undefined,
): Promise<Map<EntryName, Shown<Source>>> {
  const pace = createPace(signal);
  const shown = new Map<EntryName, Shown<Source>>();
  const media: Source[] = [];
  for (const source of sources) {
    await pace.step();
    const { entry } = source;
    if (isShown(entry, kinds)) shown.set(entry.name, { name: entry.name, source, isStrm: false });
    else if (kinds.media.has(endingOf(entry.name)) && (entry.sizeBytes ?? Number.POSITIVE_INFINITY) >= kinds.minBytes) media.push(source);
  }
  for (const source of await sortInTurns(media, (one, other) => compareNames(one.entry.name, other.entry.name), pace)) {
    await pace.step();
    const { name } = source.entry;
    const free = [`${stemOf(name)}${STRM}`, name + STRM].find((each) => isEntryName(each) && !shown.has(each));
    if (free !== undefined) shown.set(free as EntryName, { name: free as EntryName, source, isStrm: true });
  }
  return shown;
}

/** Whether an entry is shown under its own name. */
export function isShown({ isDirectory, name }: Entry, { shown }: Pick<Kinds, 'shown'>): boolean {
  return isDirectory || shown.has(endingOf(name));
}

/**
 * Which entries of a folder decide what has a name of the form `NAME.strm`: what `shownNames` makes of these alone is, for this name, what it makes of all. A
 * name is wanted by media of the same name but for the ending, and by those who lost theirs to others by the same rule.
 */
export function decidersOf(name: string, kinds: Kinds): (entry: Entry) => boolean {
  const stems = new Set<string>();
  for (let stem = stemOf(name); stem !== undefined; stem = stemOf(stem)) stems.add(stem);
  return (entry) => {
    if (entry.name === name) return true;
    const stem = stemOf(entry.name);
    if (stem === undefined || !stems.has(stem)) return false;
    // A folder too: it hides what has its name in a folder behind it.
    return entry.name.endsWith(STRM) || kinds.media.has(endingOf(entry.name));
  };
}

function stemOf(name: string): string | undefined {
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? undefined : name.slice(0, dot);
}

function endingOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot + 1).toLowerCase();
}
