import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './program.ts';

/** Of one test. */
const WITHIN_MS = 3_600_000;

/** Runs test files with greater sizes than every day. @param sizes variables of their environment. Answers whether all held. */
export function runLongTests(files: readonly string[], sizes: Readonly<Record<string, string>>): Promise<boolean> {
  return succeeds('vitest', ['run', '--reporter=verbose', `--testTimeout=${WITHIN_MS}`, ...files], sizes);
}

/** Runs a work of `test/contract/works` on images of the present sources. Answers whether all held. */
export function runContainerWork(work: string, sizes: Readonly<Record<string, string>> = {}): Promise<boolean> {
  return succeeds(process.execPath, ['test/contract/src/main.ts', '--work', work], sizes);
}

async function succeeds(command: string, args: readonly string[], variables: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn(command, args, {
    ...{ cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] as const },
    env: { ...process.env, ...variables },
  });
  const [code] = await once(child, 'close');
  return code === 0;
}
