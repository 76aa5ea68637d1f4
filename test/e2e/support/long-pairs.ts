import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './program.ts';

const FILES = ['test/e2e/remote-storages.e2e.test.ts', 'test/e2e/downloads-to-parts.e2e.test.ts'];
/** Of one test. */
const WITHIN_MS = 3_600_000;

/** The tests of storages on other servers, with trees and downloads of these sizes. Answers whether all held. */
export async function runLongPairs(sizes: { files: string; cancelled: string; downloadMib: string }): Promise<boolean> {
  const env = { WHARF_E2E_FILES: sizes.files, WHARF_E2E_CANCELLED: sizes.cancelled, WHARF_E2E_DOWNLOAD_MIB: sizes.downloadMib };
  const child = spawn('vitest', ['run', '--reporter=verbose', `--testTimeout=${WITHIN_MS}`, ...FILES], {
    ...{ cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] as const },
    env: { ...process.env, ...env },
  });
  const [code] = await once(child, 'close');
  return code === 0;
}
