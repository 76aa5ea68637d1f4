import { createPatternBound, type Pace } from '@wharf/pace';
import { RE2JS } from 're2js';

/** Longer patterns cost every listing and every error message. */
const MAX_PATTERN_CHARS = 1_000;
/** Instructions of a compiled pattern; each may be looked at for every character of a text. */
const MAX_PROGRAM_SIZE = 300;
const TOO_COMPLEX = 'the pattern is too complex';
const TOO_COMPLEX_TOGETHER = 'with the patterns before it, it is too complex: all are looked for together';

/** A line that cannot be used, and why. */
export interface BadPattern {
  readonly line: string;
  readonly reason: string;
}

/** Looks for the first line that is no RE2 pattern, or one too many. Empty lines are none. */
export function findBadPattern(text: string, maxLines: number): BadPattern | undefined {
  const looks = lookAtPatterns(text, maxLines);
  for (;;) {
    const { done, value } = looks.next();
    if (done) return value;
  }
}

/** The same; others have their turn between two lines, which take 0.2 s together. */
export async function findBadPatternInTurns(text: string, maxLines: number, pace: Pace): Promise<BadPattern | undefined> {
  const looks = lookAtPatterns(text, maxLines);
  for (;;) {
    await pace.step();
    const { done, value } = looks.next();
    if (done) return value;
  }
}

/** Looks at one line each time. */
function* lookAtPatterns(text: string, maxLines: number): Generator<undefined, BadPattern | undefined> {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '');
  const isHuge = createPatternBound();
  for (const [place, line] of lines.entries()) {
    const reason = place >= maxLines ? `there may be ${maxLines} patterns at most` : whyNoPattern(line, isHuge);
    if (reason !== undefined) return { line, reason };
    yield undefined;
  }
  return undefined;
}

function whyNoPattern(line: string, isHuge: (line: string) => boolean): string | undefined {
  if (line.length > MAX_PATTERN_CHARS) return `a pattern may have ${MAX_PATTERN_CHARS} characters at most`;
  if (isHuge(line)) return createPatternBound()(line) ? TOO_COMPLEX : TOO_COMPLEX_TOGETHER;
  try {
    return RE2JS.compile(line).programSize() > MAX_PROGRAM_SIZE ? TOO_COMPLEX : undefined;
  } catch (error) {
    if (/\(\?<?[=!]/.test(line)) return 'look-ahead and look-behind are not supported';
    return error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'not a pattern';
  }
}
