import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './program.ts';

/** Of one test. */
const WITHIN_MS = 3_600_000;
/** `$1` is how many files are put in the places of others, then two paths for each, then a command. Nobody else sees them. */
const MOUNT_INSTEAD = `
set -e
count=$1
shift
while [ "$count" -gt 0 ]; do
  mount --bind "$1" "$2"
  shift 2
  count=$((count - 1))
done
exec "$@"
`;

/**
 * Runs test files with greater sizes than every day. Answers whether all held.
 *
 * @param sizes variables of their environment
 * @param instead programs of this machine, each with the one that these tests see in its place
 */
export function runLongTests(
  files: readonly string[],
  sizes: Readonly<Record<string, string>>,
  instead: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const command = ['vitest', 'run', '--reporter=verbose', `--testTimeout=${WITHIN_MS}`, ...files];
  const mounts = Object.entries(instead).flatMap(([own, other]) => [other, own]);
  if (mounts.length === 0) return succeeds('vitest', command.slice(1), sizes);
  return succeeds('unshare', ['--mount', 'sh', '-c', MOUNT_INSTEAD, 'sh', String(mounts.length / 2), ...mounts, ...command], sizes);
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
