import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './program.ts';

/** Of one test. */
const WITHIN_MS = 3_600_000;

/** Runs test files with greater sizes than every day. @param sizes variables of their environment. Answers whether all held. */
export async function runLongTests(files: readonly string[], sizes: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn('vitest', ['run', '--reporter=verbose', `--testTimeout=${WITHIN_MS}`, ...files], {
    ...{ cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] as const },
    env: { ...process.env, ...sizes },
  });
  const [code] = await once(child, 'close');
  return code === 0;
}
