import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

/** How many tests ended how. */
export interface TestTotals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface TestRunOptions {
  /** Where the project is; test files are told relative to it. */
  readonly root: string;
  /** The JSON file that gets vitest's report; a second run has one beside it. */
  readonly report: string;
  /** Arguments of `vitest run`. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Ends what runs, and nothing begins after it. */
  readonly signal?: AbortSignal;
}

/** How many files that failed are run again, and how often; more is no accident. */
const MOST_AGAIN = 5;
const ROUNDS_AGAIN = 2;

/**
 * Runs tests, and shows what they print. A few files that failed beside the others are run again, alone, and a round in which all of a file passes
 * counts: they wait for real servers, and a machine may be too busy for one. Each is told, for it may as well be a race of ours. A file that could not
 * start or end, and an error outside of every test, count as a failed test.
 */
export async function runTests(options: TestRunOptions): Promise<TestTotals> {
  const { root, report, args } = options;
  const first = await runVitest(options, report, args);
  if (!first.files) return { passed: 0, failed: 1, skipped: 0 };
  const files = new Map(first.files.map((file) => [file.name, file]));
  const failedOf = () => [...files.values()].filter(({ status }) => status === 'failed');
  if (failedOf().length === 0 && first.code !== 0) return totalsOf([...first.files, OUTSIDE]);
  for (let round = 1; round <= ROUNDS_AGAIN; round += 1) {
    const failed = failedOf();
    if (failed.length === 0 || failed.length > MOST_AGAIN || options.signal?.aborted) break;
    const again = join(report, '..', `again-${round}-${basename(report)}`);
    const next = await runVitest(options, again, [...failed.map(({ name }) => name), ...optionsOf(args), '--maxWorkers=1']);
    if (next.code !== 0 && !next.files?.some(({ status }) => status === 'failed')) break;
    for (const file of next.files ?? []) {
      if (file.status === 'failed') continue;
      tell(root, files.get(file.name));
      files.set(file.name, file);
    }
  }
  return totalsOf([...files.values()]);
}

function tell(root: string, file: TestedFile | undefined): void {
  if (!file) return;
  console.log(`FAILED BEFORE, and passed alone: ${relative(root, file.name)}`);
  for (const test of file.assertionResults) if (test.status === 'failed') console.log(`  ${test.fullName}`);
}

/** Of the reporter `json`, what is read of a file. */
interface TestedFile {
  /** Its path. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

const OUTSIDE: TestedFile = { name: '', status: 'failed', assertionResults: [] };

/** Without the files that were named. */
function optionsOf(args: readonly string[]): string[] {
  return args.flatMap((word, at) => (word.startsWith('-') ? [word] : args[at - 1] === '--project' ? [word] : []));
}

async function runVitest(
  { root, env, signal }: TestRunOptions,
  report: string,
  args: readonly string[],
): Promise<{ code: number; files: readonly TestedFile[] | undefined }> {
  rmSync(report, { force: true });
  const words = ['run', '--reporter=default', '--reporter=json', `--outputFile=${report}`, ...args];
  const child = spawn('vitest', words, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  const end = () => child.kill('SIGTERM');
  signal?.addEventListener('abort', end, { once: true });
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    child.once('close', (status) => resolve(status ?? 1));
  });
  signal?.removeEventListener('abort', end);
  return { code, files: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : undefined };
}

function totalsOf(files: readonly TestedFile[]): TestTotals {
  let [passed, failed, skipped] = [0, 0, 0];
  for (const { status, assertionResults } of files) {
    const count = (wanted: string) => assertionResults.filter((test) => test.status === wanted).length;
    const [good, bad] = [count('passed'), count('failed')];
    passed += good;
    failed += status === 'failed' ? Math.max(1, bad) : bad;
    skipped += assertionResults.length - good - bad;
  }
  return { passed, failed, skipped };
}
