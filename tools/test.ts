// `npm test`: everything that must hold. Prints a line per step, what was skipped and why, and the totals of all runners last.
// With `--changed` or `--changed=<commit>`: the quick steps, and the tests that what changed reaches by imports. With other arguments: those of vitest.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(ROOT, 'test-results');
/** What a machine may be without even in CI: DocumentDB takes root, the unstable suite of Debian and Go; the disk that folds names `/dev/fuse`. */
const MAY_SKIP = 'mongodb,folding-disk';

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

const total: Totals = { passed: 0, failed: 0, skipped: 0 };
let running: ChildProcess | undefined;
// Whoever ends us ends what runs as well, and the servers that it started; what comes after does not begin.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    running?.once('close', () => process.exit(1));
    running?.kill('SIGTERM');
  });
rmSync(RESULTS, { recursive: true, force: true });
mkdirSync(RESULTS, { recursive: true });

const given = process.argv.slice(2);
const isChanged = given.some((argument) => /^--changed(=|$)/.test(argument));
if (isChanged) {
  await quickChecks();
  // Those that start Wharf import nothing of it, so nobody can say which of them a change reaches.
  await vitest(given.includes('--project') ? given : ['--project', 'unit', '--project', 'integration', ...given]);
  console.log('left out by --changed: dead code, proto, end-to-end tests, acceptance; `npm test` runs them');
} else if (given.length > 0) {
  await vitest(given);
  console.log('left out, since tests were named: types, lint, generated files, acceptance; `npm test` runs them');
} else {
  await quickChecks();
  await check('dead code', ['knip', '--no-config-hints']);
  await check('dead code but for tests', ['knip', '--production', '--no-config-hints']);
  await check('proto lint', ['buf', 'lint', 'proto']);
  await check('proto compatibility', ['buf', 'breaking', 'proto', '--against', 'proto/baseline.binpb']);
  await vitest([]);
  await acceptance();
}

console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);

/** What takes seconds. */
async function quickChecks(): Promise<void> {
  await check('types', ['tsc', '-p', 'tsconfig.json']);
  await check('types of the web page', ['tsc', '-p', 'web/tsconfig.json']);
  await check('format and lint', ['biome', 'ci', '--error-on-warnings']);
  await check('import directions', ['node', 'tools/lint-imports.ts']);
  await check('paths in documents', ['node', 'tools/lint-docs.ts']);
  await check('generated files', ['node', 'tools/gen.ts', '--check']);
}

/** One command that holds or does not. */
async function check(title: string, command: readonly string[]): Promise<void> {
  const { code, output } = await run(command, 'collect');
  add(title, code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 });
  if (code !== 0) console.log(output);
}

async function vitest(options: readonly string[]): Promise<void> {
  const file = join(RESULTS, 'vitest.json');
  const { code } = await run(['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile=${file}`, ...options], 'show');
  if (!existsSync(file)) return add('vitest', { passed: 0, failed: 1, skipped: 0 });
  const report: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const totals = { passed: count(report, 'numPassedTests'), failed: count(report, 'numFailedTests'), skipped: skipped(report) };
  // A suite that could not even start has no failed tests, but vitest ends with 1.
  if (code !== 0 && totals.failed === 0) totals.failed = 1;
  add('vitest', totals);
}

/** The black-box checks of the API family, where WHARF_ACCEPTANCE names them. */
async function acceptance(): Promise<void> {
  if (!process.env['WHARF_ACCEPTANCE']) return console.log('acceptance: skipped, WHARF_ACCEPTANCE names no checks');
  const { output } = await run(['node', 'tools/acceptance.ts'], 'show');
  const line = /^acceptance: (\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(output);
  if (!line) return add('acceptance', { passed: 0, failed: 1, skipped: 0 });
  add('acceptance', { passed: Number(line[1]), failed: Number(line[2]), skipped: Number(line[3]) });
}

function add(title: string, { passed, failed, skipped }: Totals): void {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  console.log(`${failed === 0 ? 'ok  ' : 'FAIL'} ${title}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}

function count(report: unknown, key: string): number {
  const value = typeof report === 'object' && report !== null && key in report ? (report as Record<string, unknown>)[key] : undefined;
  return typeof value === 'number' ? value : 0;
}

function skipped(report: unknown): number {
  return count(report, 'numPendingTests') + count(report, 'numTodoTests');
}

function run([command = '', ...args]: readonly string[], output: 'show' | 'collect'): Promise<{ code: number; output: string }> {
  const child = spawn(command === 'node' ? process.execPath : command, command === 'node' ? [...process.execArgv, ...args] : args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WHARF_TEST_MAY_SKIP: process.env['WHARF_TEST_MAY_SKIP'] ?? MAY_SKIP },
  });
  running = child;
  let text = '';
  for (const [stream, target] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const)
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (output === 'show') target.write(chunk);
    });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output: text }));
  });
}
