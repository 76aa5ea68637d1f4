// `npm test`: everything that must hold. Prints a line per step, what was skipped and why, and the totals of all runners last.
// With `--changed` or `--changed=<commit>`: the quick steps, and the tests that what changed reaches by imports. With other arguments: those of vitest.
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runTests, type TestTotals } from './run-tests.ts';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(ROOT, 'test-results');
/** What a machine may be without even in CI: DocumentDB takes root, the unstable suite of Debian and Go; the disk that folds names `/dev/fuse`. */
const MAY_SKIP = 'mongodb,folding-disk';

/** Those that a change reaches by imports. */
const CHANGED_PROJECTS = ['unit', 'web', 'integration'].flatMap((layer) => ['--project', layer]);

const total = { passed: 0, failed: 0, skipped: 0 };
const ENV = { ...process.env, WHARF_TEST_MAY_SKIP: process.env['WHARF_TEST_MAY_SKIP'] ?? MAY_SKIP };
// Whoever ends us ends what runs as well, and the servers that it started; what comes after does not begin.
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort());
rmSync(RESULTS, { recursive: true, force: true });
mkdirSync(RESULTS, { recursive: true });

const given = process.argv.slice(2);
const isChanged = given.some((argument) => /^--changed(=|$)/.test(argument));
if (isChanged) {
  await quickChecks();
  // Those that start Wharf import nothing of it, so nobody can say which of them a change reaches.
  await vitest(given.includes('--project') ? given : [...CHANGED_PROJECTS, ...given]);
  console.log('left out by --changed: dead code, proto, end-to-end tests, acceptance; `npm test` runs them');
} else if (given.length > 0) {
  await vitest(given);
  console.log('left out, since tests were named: types, lint, generated files, acceptance; `npm test` runs them');
} else {
  await quickChecks(wholeChecks);
  await vitest([]);
  await acceptance();
}

console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);

/** What takes seconds; beside the longest of them the others, one after the other. */
async function quickChecks(others: () => Promise<void> = async () => {}): Promise<void> {
  const types = check('types', ['tsc', '-p', 'tsconfig.json']);
  await check('types of the web page', ['tsc', '-p', 'web/tsconfig.json']);
  await check('format and lint', ['biome', 'ci', '--error-on-warnings']);
  await check('import directions', ['node', 'tools/lint-imports.ts']);
  await check('paths in documents', ['node', 'tools/lint-docs.ts']);
  await check('generated files', ['node', 'tools/gen.ts', '--check']);
  await others();
  await types;
}

async function wholeChecks(): Promise<void> {
  await check('dead code', ['knip', '--no-config-hints']);
  await check('dead code but for tests', ['knip', '--production', '--no-config-hints']);
  await check('proto lint', ['buf', 'lint', 'proto']);
  await check('proto compatibility', ['buf', 'breaking', 'proto', '--against', 'proto/baseline.binpb']);
}

/** One command that holds or does not. */
async function check(title: string, command: readonly string[]): Promise<void> {
  const { code, output } = await run(command, 'collect');
  add(title, code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 });
  if (code !== 0) console.log(output);
}

async function vitest(args: readonly string[]): Promise<void> {
  add('vitest', await runTests({ root: ROOT, report: join(RESULTS, 'vitest.json'), args, env: ENV, signal: ending.signal }));
}

/** The black-box checks of the API family, where WHARF_ACCEPTANCE names them. */
async function acceptance(): Promise<void> {
  if (!process.env['WHARF_ACCEPTANCE']) return console.log('acceptance: skipped, WHARF_ACCEPTANCE names no checks');
  const { output } = await run(['node', 'tools/acceptance.ts'], 'show');
  const line = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(output);
  if (!line) return add('acceptance', { passed: 0, failed: 1, skipped: 0 });
  add('acceptance', { passed: Number(line[1]), failed: Number(line[2]), skipped: Number(line[3]) });
}

function add(title: string, { passed, failed, skipped }: TestTotals): void {
  if (ending.signal.aborted) process.exit(1);
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  console.log(`${failed === 0 ? 'ok  ' : 'FAIL'} ${title}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}

function run([command = '', ...args]: readonly string[], output: 'show' | 'collect'): Promise<{ code: number; output: string }> {
  const child = spawn(command === 'node' ? process.execPath : command, command === 'node' ? [...process.execArgv, ...args] : args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: ENV,
  });
  const end = () => child.kill('SIGTERM');
  ending.signal.addEventListener('abort', end, { once: true });
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
    child.once('close', (code) => {
      ending.signal.removeEventListener('abort', end);
      resolve({ code: code ?? 1, output: text });
    });
  });
}
