import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';

/** More than is kept of what could not be written. */
const LINES = 5_000;

it('a process whose log lies on a full disk goes on also where it is to end, and keeps no more than a little of what it could not write', () => {
  const logger = new URL('../src/ops/logger.ts', import.meta.url).href;
  const program = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    const log = createLogger('test', 'info');
    const heldBytes = () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = heldBytes();
    for (let line = 0; line < ${LINES}; line++) {
      log.info({ text: 'x'.repeat(10_000) }, 'line');
      if (line % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    log.fatal('ends');
    console.error(heldBytes() - before < 10_000_000 ? 'went on' : 'kept all');
  `;
  const full = openSync('/dev/full', 'w');
  try {
    const stdio = ['ignore', full, 'pipe'] as const;
    const run = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', program], {
      encoding: 'utf8',
      stdio: [...stdio],
      timeout: 60_000,
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: 'went on\n' });
  } finally {
    closeSync(full);
  }
});

it('what is logged after a disk was full for long is written again when there is room', () => {
  const logger = new URL('../src/ops/logger.ts', import.meta.url).href;
  const program = `
    import fs from 'node:fs';
    const { createLogger } = await import(${JSON.stringify(logger)});
    const log = createLogger('test', 'info');
    const { writeSync } = fs;
    fs.writeSync = () => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    };
    for (let line = 0; line < ${LINES}; line++) log.info({ text: 'x'.repeat(line % 1_000) }, 'lost');
    fs.writeSync = writeSync;
    log.info('first');
    log.info('last');
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8', timeout: 60_000 });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  const said = run.stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).msg]));
  expect(said.slice(-2)).toEqual(['first', 'last']);
});

it('a process goes on whose thread prints what a full disk does not take', () => {
  const kit = new URL('../src/run-service.ts', import.meta.url).href;
  const program = `
    const { Worker } = await import('node:worker_threads');
    const { runProcess } = await import(${JSON.stringify(kit)});
    await runProcess('test', () => ({ logLevel: 'info', otlpEndpoint: undefined }), async () => {
      const thread = new Worker('console.error("lost")', { eval: true });
      await new Promise((resolve) => thread.once('exit', resolve));
      await new Promise((resolve) => setImmediate(resolve));
      console.log('went on');
      return undefined;
    });
  `;
  const full = openSync('/dev/full', 'w');
  try {
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', full],
      timeout: 60_000,
    });
    expect({ status: run.status, stdout: run.stdout }).toEqual({ status: 0, stdout: 'went on\n' });
  } finally {
    closeSync(full);
  }
});
