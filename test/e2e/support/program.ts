import { fileURLToPath } from 'node:url';
import { programFlags, runCommand } from '@wharf/harness';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const STANDALONE = `${ROOT}services/standalone/src/main.ts`;

/** Runs one of our programs until it ends by itself, with nothing in its environment but what is given. */
export async function runProgram(
  program: string,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runCommand(process.execPath, [...programFlags(), program, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    withinMs: 30_000,
  });
}
