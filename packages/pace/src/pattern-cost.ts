/** Users of patterns take 300 instructions at most, of which this estimate sees up to four times as many: simple pieces become one. */
const MAX_STEPS = 1_200;
/** Tables of Unicode are looked through for each `\p`, which takes about as long as so many instructions. */
const TABLE_STEPS = 10;
const REPETITION = /\{(\d+)(?:,(\d*))?\}/y;
/** `(?:`, `(?i:`, `(?P<name>`; with `)` at its end a group of flags alone. */
const GROUP_HEAD = /\(\?[^:>)]{0,99}[:>)]/y;
/** What begins with a backslash and has a brace or is longer than two characters. */
const LONG_ESCAPE = /\\(?:[pP](?:\{[^}]{0,99}\}|.)|x\{[^}]{0,99}\}|Q(?:(?!\\E)[\s\S])*(?:\\E)?)/suy;
/** The first `]` of a class may be one of its characters. */
const CLASS = /\[\^?\]?(?:\\.|[^\]\\])*\]?/suy;
const ANY = /\\?[\s\S]/uy;

/** What ignores letter case, `(?i)`, has each character of its ranges looked up; so many take about as long as an instruction. */
const FOLDED_PER_STEP = 400;
const IGNORES_CASE = /\(\?[A-Za-z]*i/;
const RANGE = /(\\x\{[^}]{0,9}\}|[\s\S])-(\\x\{[^}]{0,9}\}|[\s\S])/gu;
/** The first and the last character of which there is one in another case. */
const FOLDS = { first: 0x41, last: 0x1_e943 } as const;
/** Patterns that are compiled together, in one turn, have so much of tables and ranges at most: 0.2 s. */
const MAX_SLOW_STEPS = 8 * MAX_STEPS;

/** What may go on at once for each letter of a text: what is repeated, and two ways for each sign that says how often, or that there is another one. */
const BRANCHES = /[*+?|]|\{\d/g;
const WAYS = 2;
/** Patterns that are looked for together have so many: for a path of 4,000 letters they take 0.3 s at most. */
const MAX_BRANCHES = 2_000;

/** What a compiled pattern takes in memory, and each of its instructions. So much takes about as long to compile as a table of Unicode does. */
const [PATTERN_BYTES, STEP_BYTES] = [2_048, 640];
/** Users of patterns take so many at most: a repetition of simple pieces looks like more. */
const MAX_INSTRUCTIONS = 300;
/** The patterns of all rules have so much together: 2 s to compile them, and each process that knows the rules has all in memory. */
export const MAX_PATTERNS_BYTES = 48 * 1024 * 1024;

/** About what the patterns in these lines take in memory when they are compiled, in bytes: rather more than less. */
export function patternsBytes(lines: string): number {
  let bytes = 0;
  for (const line of lines.split('\n'))
    if (line !== '') bytes += PATTERN_BYTES + STEP_BYTES * Math.min(MAX_INSTRUCTIONS, patternSteps(line) + foldedSteps(line));
  return bytes;
}

/** Whether a pattern looks so large that it must not even be compiled. The longer it is, the longer this takes: bound it before. */
export const isHugePattern = (pattern: string): boolean => patternSteps(pattern) + foldedSteps(pattern) > MAX_STEPS;

/** Tells the same of patterns that are compiled together, one by one, and of all from the one with which they take too long. */
export function createPatternBound(): (pattern: string) => boolean {
  let [slowSteps, branches] = [0, 0];
  return (pattern) => {
    slowSteps += TABLE_STEPS * countTables(pattern) + foldedSteps(pattern);
    branches += branchesOf(pattern);
    return slowSteps > MAX_SLOW_STEPS || branches > MAX_BRANCHES || isHugePattern(pattern);
  };
}

/** Plain text, however long, goes on in few places at once. */
function branchesOf(pattern: string): number {
  const repeated = patternSteps(pattern) - TABLE_STEPS * countTables(pattern) - pattern.length;
  return Math.max(0, repeated) + WAYS * (pattern.match(BRANCHES)?.length ?? 0);
}

/** However small its program becomes: 240 ranges in one class take 1.6 s. */
function foldedSteps(pattern: string): number {
  if (!IGNORES_CASE.test(pattern)) return 0;
  let characters = 0;
  for (const [, first = '', last = ''] of pattern.matchAll(RANGE))
    characters += Math.max(0, Math.min(codeOf(last), FOLDS.last) - Math.max(codeOf(first), FOLDS.first));
  return Math.ceil(characters / FOLDED_PER_STEP);
}

const codeOf = (text: string) => (text.length > 2 ? Number.parseInt(text.slice(3), 16) || 0 : (text.codePointAt(0) ?? 0));

/**
 * About how many instructions a pattern in RE2's syntax becomes, told from its text. A thousand characters may become 400,000: to compile them, even
 * just to see that they are too many, would keep the thread. What is no pattern is counted as if it were one.
 *
 * @internal
 */
export function patternSteps(pattern: string): number {
  /** Of each group that is open: what it has so far, and its last piece, which a repetition behind it multiplies. */
  const outer: { steps: number; last: number }[] = [];
  let steps = 0;
  let last = 0;
  const take = (piece: number) => {
    steps += last;
    last = piece;
  };
  for (let at = 0; at < pattern.length; ) {
    const matchAt = (form: RegExp): RegExpExecArray | null => {
      form.lastIndex = at;
      const match = form.exec(pattern);
      if (match) at += match[0].length;
      return match;
    };
    const first = pattern[at];
    const repetition = first === '{' ? matchAt(REPETITION) : null;
    const escaped = first === '\\' ? matchAt(LONG_ESCAPE) : null;
    if (repetition) last *= Math.max(1, Number(repetition[1]), Number(repetition[2] ?? 0));
    else if (escaped) take(escaped[0].startsWith('\\Q') ? escaped[0].length : TABLE_STEPS);
    else if (first === '[') take(1 + TABLE_STEPS * countTables(matchAt(CLASS)?.[0] ?? ''));
    else if (first === '(') {
      const head = matchAt(GROUP_HEAD)?.[0];
      if (head === undefined) at += 1;
      if (head?.endsWith(')')) continue;
      outer.push({ steps, last });
      steps = 0;
      last = 0;
    } else if (first === ')') {
      const inner = steps + last;
      ({ steps, last } = outer.pop() ?? { steps, last: 0 });
      take(inner);
      at += 1;
    } else if (first === '*' || first === '+' || first === '?') {
      last += 1;
      at += 1;
    } else {
      matchAt(ANY);
      take(1);
    }
  }
  return outer.reduce((sum, group) => sum + group.steps + group.last, steps + last);
}

const countTables = (text: string) => text.match(/\\[pP]/g)?.length ?? 0;
