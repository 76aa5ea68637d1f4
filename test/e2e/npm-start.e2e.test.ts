import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { freePort, httpRequest, makeTempDir, runCommand, waitFor } from '@wharf/harness';
import { expect, test } from 'vitest';
import { commandOf, descendantsOf } from './support/process-memory.ts';
import { ROOT } from './support/program.ts';

test.runIf(process.platform === 'linux')('npm start: npm that is told to end takes all it started with it', async () => {
  const folder = await makeTempDir('npm-start');
  const port = await freePort();
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], WHARF_DATA_DIR: folder.path, WHARF_HTTP_PORT: String(port) },
    stdio: 'ignore',
  });
  let family: number[] = [];
  const isThere = async () => (await Promise.all(family.map(commandOf))).some((command) => command !== undefined);
  try {
    const ping = () => httpRequest(`http://127.0.0.1:${port}`, { path: '/ping' }).catch(() => undefined);
    await waitFor('pong', async () => (await ping())?.text() === 'pong', { withinMs: 90_000 });
    if (npm.pid === undefined) throw new Error('npm did not start');
    family = await descendantsOf(npm.pid);
    expect(family.length).toBeGreaterThan(1);
    npm.kill('SIGTERM');
    await waitFor('the end of all it started', async () => !(await isThere()), { withinMs: 20_000 });
  } finally {
    for (const pid of family) if (await commandOf(pid)) process.kill(pid, 'SIGKILL');
    await folder.remove();
  }
});

test.runIf(process.platform === 'linux')('a script that a signal ended has failed, and says so', async () => {
  const run = join(ROOT, 'tools', 'run.mjs');
  const { code, stderr } = await runCommand(process.execPath, [run, 'exec', 'node', '-e', 'process.kill(process.pid, "SIGTERM")']);
  expect({ code, said: stderr }).toEqual({ code: 1, said: expect.stringContaining('was ended by SIGTERM') });
});
