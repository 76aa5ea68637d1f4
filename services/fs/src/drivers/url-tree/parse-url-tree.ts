import { AppError } from '@wharf/errors';
import { type EntryName, isEntryName } from '@wharf/paths';
import { NO_DATE } from '../../driver-contract/folder-named.ts';

export interface UrlFile {
  /** A text: a URL that is kept takes a multiple of it, and a form has thousands. */
  readonly address: string;
  /** Undefined: not given. */
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date;
}

export type UrlFolder = Map<EntryName, UrlNode>;
export type UrlNode = UrlFile | UrlFolder;

const MAX_LINES = 100_000;

/**
 * Reads the lines of a form: two spaces a level, `name:` for a folder, `[name:][bytes:][date:]address` for a file.
 *
 * @throws AppError INVALID_ARGUMENT with the number of the line, for the admin
 */
export function parseUrlTree(text: string): UrlFolder {
  const root: UrlFolder = new Map();
  /** The folders above a line, by their level. */
  const above: UrlFolder[] = [root];
  const lines = text.split('\n');
  if (lines.length > MAX_LINES) throw new AppError('INVALID_ARGUMENT', `url_structure has more than ${MAX_LINES} lines`);
  for (const [index, raw] of lines.entries()) {
    if (raw.trim() === '') continue;
    const fail = (reason: string): never => {
      throw new AppError('INVALID_ARGUMENT', `url_structure, line ${index + 1}: ${reason}`);
    };
    const line = raw.trim();
    const spaces = raw.length - raw.trimStart().length;
    const level = spaces / 2;
    const folder = above[level];
    if (!Number.isInteger(level) || raw.slice(0, spaces).includes('\t') || folder === undefined) {
      return fail('it is two spaces deeper than the folder above it, or as deep');
    }
    above.length = level + 1;
    const isFolder = line.endsWith(':');
    const [name, node] = isFolder ? [line.slice(0, -1), new Map() as UrlFolder] : parseFile(line, fail);
    if (!isEntryName(name)) return fail('it has no name that a file could have');
    if (folder.has(name)) return fail('the name is there already');
    folder.set(name, node);
    if (node instanceof Map) above.push(node);
  }
  return root;
}

function parseFile(line: string, fail: (reason: string) => never): [string, UrlFile] {
  const begin = line.search(/https?:\/\//i);
  if (begin === -1) return fail('it is neither a folder (name:) nor a file with an http or https address');
  const url = URL.parse(line.slice(begin));
  if (url === null || url.hostname === '') return fail('the address cannot be read');
  if (url.username !== '' || url.password !== '') return fail('the address has a password: whoever opens the file would see it');
  url.hash = '';
  const before = line.slice(0, begin);
  if (before !== '' && !before.endsWith(':')) return fail('a colon is missing before the address');
  const [, name = '', size, date] = /^(.*?)(?::(\d{1,15}))?(?::(\d{1,11}))?:$/.exec(before) ?? [];
  return [
    name || nameOf(url),
    {
      address: url.href,
      sizeBytes: size === undefined ? undefined : Number(size),
      modifiedAt: date === undefined ? NO_DATE : new Date(Number(date) * 1000),
    },
  ];
}

function nameOf({ pathname }: URL): string {
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
