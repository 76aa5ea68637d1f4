import { dirname, join } from 'node:path';
import { runCommand, type Wharf } from '@wharf/harness';

const CHECKS = join(import.meta.dirname, '..', '..', '..', 'tools', 'acceptance.ts');
export const CHECKS_WITHIN_MS = 600_000;
/** They are not part of the repository. */
export const HAS_CHECKS = process.env['WHARF_ACCEPTANCE'] !== undefined;

/** Runs the checks of the API family. @returns its last lines: what failed, and the totals */
export async function checkFamily(wharf: Wharf): Promise<string> {
  const { stdout } = await runCommand(process.execPath, [CHECKS, '--base', wharf.base, '--admin-password', wharf.adminPassword], {
    withinMs: CHECKS_WITHIN_MS,
    // Where the checks make storages, fs must see them.
    env: { ...process.env, TMPDIR: dirname(wharf.filesDir) },
  });
  return stdout;
}
