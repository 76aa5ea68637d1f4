import { AppError } from '@wharf/errors';
import { type EntryName, nameAt, parseEntryName, parseVirtualPath, type VirtualPath } from '@wharf/paths';

/** Folders of the tree that are shown under one name. */
export interface NamedFolders {
  readonly name: EntryName;
  /** In the order of the lines, each once; never none. */
  readonly paths: readonly VirtualPath[];
}

const MAX_LINES = 200;

/**
 * Reads lines of `name:/path` or `/path`, whose name is the last of the path. Equal names are shown as one.
 *
 * @param item whose text it is, for the admin
 * @throws AppError INVALID_ARGUMENT, for the admin
 */
export function parseNamedFolders(item: string, text: string): NamedFolders[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) throw new AppError('INVALID_ARGUMENT', `${item} is required`);
  if (lines.length > MAX_LINES) throw new AppError('INVALID_ARGUMENT', `${item} has more than ${MAX_LINES} lines`);
  const folders = new Map<EntryName, Set<VirtualPath>>();
  for (const line of lines) {
    const { name, path } = parseLine(item, line);
    folders.set(name, (folders.get(name) ?? new Set()).add(path));
  }
  return [...folders].map(([name, paths]) => ({ name, paths: [...paths] }));
}

function parseLine(item: string, line: string): { name: EntryName; path: VirtualPath } {
  const colon = line.startsWith('/') ? -1 : line.indexOf(':/');
  try {
    if (!line.startsWith('/') && colon <= 0) throw new AppError('INVALID_ARGUMENT', 'neither /path nor name:/path');
    const path = parseVirtualPath(line.slice(colon + 1));
    return { name: colon > 0 ? parseEntryName(line.slice(0, colon).trim()) : nameAt(path), path };
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', `${item}: [${line}] is neither /path nor name:/path`, { cause });
  }
}
