// Runs the black-box checks of the API family against `npm start`, or with --base against a running server, and compares the failures
// with the list of those that are known to be open. A check that fails and is not listed, or is listed and passes, is a failure.
// WHARF_ACCEPTANCE is the path of the runner of the checks, which are not part of this repository.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const RUNNER = process.env['WHARF_ACCEPTANCE'];
const OPEN_LIST = join(ROOT, 'test', 'acceptance-open.txt');

if (!RUNNER || !existsSync(RUNNER)) {
  console.error(
    `acceptance: WHARF_ACCEPTANCE must be the path of the checks' runner; ${RUNNER ? `${RUNNER} is not there` : 'it is empty'}`,
  );
  process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), 'wharf-acceptance-'));
try {
  const given = process.argv.slice(2);
  const target = given.includes('--base') ? given : ['--project', ROOT, ...given];
  const file = join(work, 'results.json');
  const answer = spawnSync(process.execPath, [RUNNER, ...target, '--json', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (answer.status !== 0) throw new Error(`the checks could not run:\n${answer.stdout}`);
  report(JSON.parse(readFileSync(file, 'utf8')));
} finally {
  rmSync(work, { recursive: true, force: true });
}

interface Result {
  readonly area: string;
  readonly group: string;
  readonly title: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  readonly reason?: string;
}

function report({ results }: { results: readonly Result[] }): void {
  const open = new Set(
    readFileSync(OPEN_LIST, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const result of results) {
    const name = `${result.area} | ${result.group} | ${result.title}`;
    const isOpen = open.has(name);
    if (result.status === 'skipped') skipped += 1;
    else if (result.status === 'passed' && isOpen) {
      failed += 1;
      console.log(`PASSES NOW, take it off test/acceptance-open.txt: ${name}`);
    } else if (result.status === 'failed' && !isOpen) {
      failed += 1;
      console.log(`FAIL ${name}: ${result.reason}`);
    } else if (result.status === 'failed') skipped += 1;
    else passed += 1;
  }
  console.log(`acceptance: ${open.size} checks are known to be open (counted as skipped)`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
}
