import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';

/** More than is kept of what could not be written. */
const LINES = 5_000;

it('a process whose log lies on a full disk goes on, and keeps no more than a little of what it could not write', () => {
  const logger = new URL('../src/ops/logger.ts', import.meta.url).href;
  const program = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    const log = createLogger('test', 'info');
    const before = process.memoryUsage.rss();
    for (let line = 0; line < ${LINES}; line++) log.info({ text: 'x'.repeat(10_000) }, 'line');
    await new Promise((resolve) => setImmediate(resolve));
    console.error(process.memoryUsage.rss() - before < 40_000_000 ? 'went on' : 'kept all');
  `;
  const full = openSync('/dev/full', 'w');
  try {
    const stdio = ['ignore', full, 'pipe'] as const;
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      stdio: [...stdio],
      timeout: 60_000,
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: 'went on\n' });
  } finally {
    closeSync(full);
  }
});
