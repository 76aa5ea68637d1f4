import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './program.ts';

/** Runs every test file that has properties so many times, each with seeds of its own; fast-check prints those that failed. Answers whether all held. */
export async function repeatProperties(times: number, tell: (text: string) => void): Promise<boolean> {
  const files: string[] = [];
  for await (const file of glob('{packages,services}/**/*.test.ts', { cwd: ROOT, exclude: (name) => name.endsWith('node_modules') }))
    if ((await readFile(join(ROOT, file), 'utf8')).includes("from 'fast-check'")) files.push(file);
  let failures = 0;
  for (let time = 1; time <= times; time++) {
    const child = spawn('vitest', ['run', '--reporter=dot', ...files], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code] = await once(child, 'close');
    if (code !== 0) failures++;
    tell(`run ${time} of ${times} over ${files.length} files: ${failures} failed so far`);
  }
  return failures === 0;
}
