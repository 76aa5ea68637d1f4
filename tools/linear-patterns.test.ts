import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, it, vi } from 'vitest';

// A pattern that begins anew at each place of a long text, or tries each way to share it out, holds the thread for seconds: for what clients and servers
// send, and for what was imported. Such texts are taken apart by `indexOf` and `split` instead (also `withoutEnd` of `@wharf/pace`, `hasInOrder` of fs).

const ROOT = join(import.meta.dirname, '..');
const TESTS = /\.test\.ts$|\.suite\.ts$|\/testing\/|\.d\.ts$/;
/** So long one pattern is looked at, in milliseconds. The slowest takes 9 s on a quiet machine. */
const LOOK_MS = 120_000;
/** Patterns that were found quick: judging all of them takes a minute or two. What is new is judged, and written there; who removes the file has all of them judged anew. */
const JUDGED = join(ROOT, 'tools', 'quick-patterns.json');

/** Patterns that are let be: the file, how they begin, and why. */
const KNOWN: readonly (readonly [file: string, begin: string, why: string])[] = [
  ['services/standalone/src/arguments.ts', '/\\/+$/', 'what its owner writes at the command line'],
  ['services/fs/src/domain/reading/path-pattern.ts', '/\\/\\*\\*', 'of 1,000 characters at most'],
  [
    'services/fs/src/drivers/ftp/listing.ts',
    '/^([-dlbcpsD])',
    'too large to be judged; nothing that repeats takes what the next piece begins with',
  ],
];

interface Literal {
  readonly pattern: string;
  readonly flags: string;
}

/** The patterns of the product and of its page, each with the files that it is in. */
function findPatterns(): Map<string, Literal & { readonly files: Set<string> }> {
  const found = new Map<string, Literal & { files: Set<string> }>();
  for (const file of sources()) {
    const look = (node: unknown): void => {
      if (Array.isArray(node)) for (const inner of node) look(inner);
      if (!isNode(node)) return;
      const { regex } = node;
      if (regex) {
        const name = `/${regex.pattern}/${regex.flags}`;
        const known = found.get(name) ?? { ...regex, files: new Set() };
        found.set(name, known);
        known.files.add(file);
      } else for (const inner of Object.values(node)) look(inner);
    };
    look(parseSync(file, readFileSync(join(ROOT, file), 'utf8')).program.body);
  }
  return found;
}

function sources(): string[] {
  const members = ['services', 'packages'].flatMap((group) => readdirSync(join(ROOT, group)).map((name) => join(group, name, 'src')));
  return [...members, join('web', 'src')].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .filter((file) => /\.tsx?$/.test(file) && !TESTS.test(file)),
  );
}

function isNode(node: unknown): node is { readonly regex?: Literal } {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

/** What is looked for again and again: behind its first find another alternative may be the slow one. */
function alternativesOf({ pattern, flags }: Literal): string[] {
  if (!/[gy]/.test(flags)) return [pattern];
  const alternatives = [''];
  let depth = 0;
  for (const [piece] of pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|[\s\S]/g)) {
    if (piece === '(') depth += 1;
    if (piece === ')') depth -= 1;
    if (piece === '|' && depth === 0) alternatives.push('');
    else alternatives.push(`${alternatives.pop()}${piece}`);
  }
  return alternatives;
}

/** What the checker says of a pattern that takes more than about its text's length. */
async function judge(literals: Iterable<Literal>): Promise<Map<string, string>> {
  // Its part in JavaScript: the others are programs.
  vi.stubEnv('RECHECK_SYNC_BACKEND', 'pure');
  const { checkSync } = await import('recheck');
  const slow = new Map<string, string>();
  for (const literal of literals)
    for (const alternative of alternativesOf(literal)) {
      const verdict = checkSync(alternative, literal.flags, { timeout: LOOK_MS });
      if (verdict.status === 'safe') continue;
      slow.set(`/${literal.pattern}/${literal.flags}`, verdict.status === 'vulnerable' ? verdict.complexity.summary : verdict.error.kind);
    }
  return slow;
}

it('the checker knows slow patterns', async () => {
  const slow = ['\\/+$', '^\\s*(.+):\\s*(\\d+)\\s*$', 'readdir .*(?:not|invalid)', '(a+)+$'].map((pattern) => ({ pattern, flags: '' }));
  const sought = [{ pattern: '^\\/*|\\/+$', flags: 'g' }];
  const quick = [{ pattern: '^[a-z]+$', flags: '' }];
  expect([...(await judge([...slow, ...sought, ...quick])).keys()]).toEqual([
    ...slow.map(({ pattern }) => `/${pattern}/`),
    '/^\\/*|\\/+$/g',
  ]);
});

it('C18: every pattern takes time by the length of its text', { timeout: 900_000 }, async () => {
  const patterns = findPatterns();
  expect(patterns.size).toBeGreaterThan(200);
  for (const [file, begin] of KNOWN) {
    const known = [...patterns].find(([name, { files }]) => name.startsWith(begin) && files.delete(file));
    expect([file, begin, known !== undefined]).toEqual([file, begin, true]);
  }
  const judged = new Set(readJudged());
  const unjudged = [...patterns].filter(([name, { files }]) => files.size > 0 && repeats(name) && !judged.has(name));
  const slow = await judge(unjudged.map(([, literal]) => literal));
  expect([...slow].map(([name, why]) => [name, why, ...(patterns.get(name)?.files ?? [])])).toEqual([]);
  const quick = [...patterns.keys()].filter((name) => repeats(name) && (patterns.get(name)?.files.size ?? 0) > 0);
  if (quick.some((name) => !judged.has(name)) || quick.length < judged.size)
    writeFileSync(JUDGED, `${JSON.stringify(quick.sort(), null, 2)}\n`);
});

/** Whether something in a pattern may come any number of times. */
const repeats = (name: string): boolean => /[*+]|\{\d+,\}/.test(name);

function readJudged(): string[] {
  try {
    return JSON.parse(readFileSync(JUDGED, 'utf8'));
  } catch {
    return [];
  }
}
