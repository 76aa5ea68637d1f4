import type { StorageRecord } from '@wharf/models';
import type { MountPath } from '@wharf/paths';
import { RE2JS } from 're2js';

/** How long listings of a storage's folders are kept. */
export interface CachePolicy {
  /** Minutes; 0: not at all. */
  minutesOf(folder: MountPath): number;
}

const MAX_PATTERNS = 200;
const MAX_PATTERN_LENGTH = 1_000;

/**
 * The minutes of the first pattern that fits a folder's path within its storage, else of the whole storage. A line is `pattern:minutes`; in
 * patterns `*` and `?` stay within a segment, `**` goes across, `[a-z]` and `{one,two}` are alternatives. A line that is no such thing is
 * passed over.
 */
export function createCachePolicy({ custom_cache_policies, cache_expiration }: CacheItems): CachePolicy {
  const patterns = custom_cache_policies.split('\n').slice(0, MAX_PATTERNS).flatMap(readLine);
  return {
    minutesOf: (folder) => patterns.find(({ pattern }) => pattern.matcher(folder).matches())?.minutes ?? cache_expiration,
  };
}

type CacheItems = Pick<StorageRecord, 'custom_cache_policies' | 'cache_expiration'>;

function readLine(line: string): Array<{ pattern: RE2JS; minutes: number }> {
  const at = line.lastIndexOf(':');
  const [glob, minutes] = [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()];
  if (glob === '' || glob.length > MAX_PATTERN_LENGTH || !/^\d+$/.test(minutes)) return [];
  try {
    return [{ pattern: RE2JS.compile(regexOf(glob)), minutes: Number(minutes) }];
  } catch {
    return [];
  }
}

/** The parts of a pattern, the longest first, and what they are as a regular expression. */
const TOKENS = /\/\*\*\/|\/\*\*$|^\*\*\/|\*\*|\*|\?|\{|\}|,|\[!?[^\]/]+\]|\\.|[\s\S]/gu;

function regexOf(glob: string): string {
  let depth = 0;
  const parts = [...glob.matchAll(TOKENS)].map(([token]) => {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (token === ',' && depth > 0) return '|';
    return translate(token);
  });
  // A pattern may leave the first slash out.
  return `${glob.startsWith('/') || glob.startsWith('**') ? '' : '/'}${parts.join('')}`;
}

function translate(token: string): string {
  switch (token) {
    case '/**/':
      return '(?:/|/.*/)';
    case '/**':
      return '(?:/.*)?';
    case '**/':
      return '(?:/|/.*/)';
    case '**':
      return '.*';
    case '*':
      return '[^/]*';
    case '?':
      return '[^/]';
    case '{':
      return '(?:';
    case '}':
      return ')';
  }
  if (token.length > 1 && token.startsWith('[')) return token.replace(/^\[!/, '[^');
  return RE2JS.quote(token.startsWith('\\') && token.length > 1 ? token.slice(1) : token);
}
