// `npm run test:containers`: builds the images and tries them in real containers. Leaves none of its containers, networks, volumes and daemons.
// With `--images` it only builds them, for a later run. With `--long` it tries more of what may go wrong; with `--work NAME` it runs what is too long for every day (`npm run soak`) and nothing else. Prints the totals last; where no container engine can be had it says so, and nothing has failed.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ContainerEngine, ensureBaseImage, isMissing, runCommand, startContainerEngine } from '@wharf/harness';
import { runTests, type TestTotals } from '../../../tools/run-tests.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const REPORT = join(ROOT, 'test-results', 'containers.json');
/** What the tests make has it, so that what a killed run left goes with the next one. */
const LABELS = ['wharf.test=containers', 'com.docker.compose.project=wharf-test', 'org.testcontainers=true'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { images: { type: 'boolean', default: false }, long: { type: 'boolean', default: false }, work: { type: 'string' } },
});
// Containers are another user, and work on files that the tests make.
process.umask(0);

const engine = await startContainerEngine();
if (isMissing(engine)) skip(engine.missing);
else {
  const base = await ensureBaseImage(engine);
  if (typeof base === 'string') process.exitCode = await runAll(engine, base);
  else skip(base.missing);
  await engine.stop();
}

function skip(reason: string): void {
  console.log(`containers: NOT RUN, ${reason}\n0 passed, 0 failed, 0 skipped`);
}

async function runAll(running: ContainerEngine, base: string): Promise<number> {
  await removeAll(running);
  const env = { DOCKER: running.docker, BASE: base, TAG: 'test' };
  try {
    if ((await run('deploy/docker/build', [], env)) !== 0) return told({ passed: 0, failed: 1, skipped: 0 });
    if (values.images) return 0;
    const tests = {
      ...{ WHARF_TEST_CONTAINERS: running.docker, TESTCONTAINERS_RYUK_DISABLED: 'true' },
      ...(values.long && { WHARF_TEST_LONG: '1' }),
      ...(values.work !== undefined && { WHARF_TEST_WORK: values.work }),
    };
    const args = ['--project', 'containers', ...positionals];
    return told(await runTests({ root: ROOT, report: REPORT, args, env: { ...process.env, ...env, ...tests } }));
  } finally {
    await removeAll(running);
  }
}

function told({ passed, failed, skipped }: TestTotals): number {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

async function removeAll({ docker }: ContainerEngine): Promise<void> {
  for (const label of LABELS)
    for (const [list, remove] of [
      [
        ['ps', '-aq'],
        ['rm', '-fv'],
      ],
      [
        ['network', 'ls', '-q'],
        ['network', 'rm'],
      ],
      [
        ['volume', 'ls', '-q'],
        ['volume', 'rm', '-f'],
      ],
    ] as const) {
      const { stdout } = await runCommand(docker, [...list, '--filter', `label=${label}`]);
      const ids = stdout.split('\n').filter((id) => id !== '');
      if (ids.length > 0) await runCommand(docker, [...remove, ...ids], { withinMs: 120_000 });
    }
}

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } });
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    child.once('close', (code) => resolve(code ?? 1));
  });
}
