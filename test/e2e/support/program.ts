import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM_VARIABLES, programFlags, type RunningProcess, runCommand, startProcess } from '@wharf/harness';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const STANDALONE = `${ROOT}services/standalone/src/main.ts`;

/** What a program of ours always gets of our environment. Without the cache each start compiles everything again. */
export const BARE_ENVIRONMENT = Object.fromEntries(['PATH', 'HOME', ...PROGRAM_VARIABLES].map((key) => [key, process.env[key]]));

/** Runs one of our programs until it ends by itself, with nothing in its environment but what is given. */
export async function runProgram(
  program: string,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runCommand(process.execPath, [...programFlags(), program, ...args], {
    env: { ...BARE_ENVIRONMENT, ...env },
    withinMs: 30_000,
  });
}

/**
 * Starts a service or an engine by its folder, such as `services/fs`, with nothing in its environment but what is given.
 *
 * @returns `ready`: the address it says it listens on; empty when it says none
 */
export function startProgram(
  folder: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<RunningProcess<string>> {
  return startProcess({
    name: folder,
    command: process.execPath,
    args: [...programFlags(), join(ROOT, folder, 'src', 'main.ts'), ...args],
    cwd: ROOT,
    env: { ...BARE_ENVIRONMENT, ...env },
    ready: { line: readyAddress },
    readyWithinMs: 90_000,
  });
}

function readyAddress(line: string): string | undefined {
  if (line.startsWith('ready ')) return line.slice('ready '.length).trim();
  if (!line.includes('"msg":"listening"')) return undefined;
  const { url = '' }: { url?: string } = JSON.parse(line);
  return url;
}
