const MAX_LINES = 200;
const MAX_PATTERN_CHARS = 1_000;
/** All patterns of a storage may be held against one path of 4,096 characters, in one turn: each of theirs against each of its. */
const MAX_CHARS_OF_ALL = 4_000;

/** What the `custom_cache_policies` of a storage say. */
export interface CachePolicies {
  /** The first whose pattern fits counts. */
  readonly policies: readonly { readonly pattern: string; readonly minutes: number }[];
  /** Why a line is passed over though it is a policy: beyond the bounds. Of several the first. */
  readonly excess: string | undefined;
}

/** Reads lines `pattern:minutes`. A line that is no such thing is passed over. */
export function readCachePolicies(text: string): CachePolicies {
  const policies: CachePolicies['policies'][number][] = [];
  let excess: string | undefined;
  let chars = 0;
  for (const [place, line] of text
    .trimEnd()
    .split('\n', MAX_LINES + 1)
    .entries()) {
    const found = readLine(line);
    const problem = place === MAX_LINES ? `there may be ${MAX_LINES} lines at most` : found && whyTooLong(found.pattern, chars);
    if (problem !== undefined) excess ??= `line ${place + 1}: ${problem}`;
    else if (found) {
      chars += found.pattern.length;
      policies.push(found);
    }
  }
  return { policies, excess };
}

function readLine(line: string): CachePolicies['policies'][number] | undefined {
  const at = line.lastIndexOf(':');
  const [pattern, minutes] = [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()];
  return pattern === '' || !/^\d+$/.test(minutes) ? undefined : { pattern, minutes: Number(minutes) };
}

function whyTooLong({ length }: string, before: number): string | undefined {
  if (length > MAX_PATTERN_CHARS) return `a pattern may have ${MAX_PATTERN_CHARS} characters at most`;
  return before + length > MAX_CHARS_OF_ALL ? `the patterns may have ${MAX_CHARS_OF_ALL} characters together` : undefined;
}
