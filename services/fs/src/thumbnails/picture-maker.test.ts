import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('./testing/without-handles.ts', import.meta.url));

it.runIf(process.platform === 'linux')('while no file handle is left no picture is made, and the process goes on', async () => {
  const program = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM];
  const { stdout } = await promisify(execFile)('/bin/sh', program);
  expect(JSON.parse(stdout)).toEqual({ without: Array.from({ length: 5 }, () => 'OVERLOADED'), again: 'made' });
});
