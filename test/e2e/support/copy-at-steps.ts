import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir, waitFor } from '@wharf/harness';
import { onTestFinished } from 'vitest';

/** What a program that is killed right after a step leaves. */
export interface KilledAtStep {
  /** A copy of the whole folder. */
  readonly copy: string;
  /** The step, for the message of a test that fails. */
  readonly step: string;
  /** What it had written to stdout until then. */
  readonly said: string;
}

/** The variables of a program that stands still after each of its steps (stop-at-steps.ts), which it notes in a file. */
export const stopAtSteps = (notes: string) => ({
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'stop-at-steps.ts')}`,
  WHARF_TEST_STEPS: notes,
});

/**
 * Lets a program that stands still after each of its steps go on step by step until `ended`, and copies its folder whenever it differs from all before,
 * in itself or in what had been said: a process that stands still leaves there what one does that is killed.
 */
export async function copyAtSteps(folder: string, notes: string, ended: Promise<unknown>): Promise<KilledAtStep[]> {
  const copies = await makeTempDir('steps');
  onTestFinished(() => copies.remove());
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  ended.then(over, over);
  const killed = new Map<string, KilledAtStep>();
  for (let known = 0; ; ) {
    const stop = await waitFor('the next step', async () => (isOver ? 'over' : stopAfter(known, notes)), { withinMs: 60_000, everyMs: 5 });
    if (stop === 'over') return [...killed.values()];
    const { pid, step, said } = stop;
    known = stop.count;
    const key = `${said}\n${await contentOf(folder)}`;
    if (!killed.has(key)) {
      const copy = join(copies.path, String(killed.size));
      // Not `fs.cp`, which takes no sockets.
      await promisify(execFile)('cp', ['-a', folder, copy]);
      killed.set(key, { copy, step, said });
    }
    process.kill(pid, 'SIGCONT');
  }
}

/** Where a process stands still after more notes than were known. */
async function stopAfter(known: number, file: string) {
  const notes = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  if (notes.length <= known) return undefined;
  const lines: { pid?: number; step?: string; said?: string }[] = notes.map((note) => JSON.parse(note));
  const { pid = 0, step = '' } = lines.findLast((line) => line.pid) ?? {};
  const isStopped = /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8'));
  return isStopped ? { pid, step, count: notes.length, said: lines.map((line) => line.said ?? '').join('') } : undefined;
}

/** All files of a folder, with what is in them. */
async function contentOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const parts = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const sum = createHash('sha256').update(entry.isFile() ? await readFile(path) : '');
    return `${relative(folder, path)} ${sum.digest('hex')}`;
  });
  return (await Promise.all(parts)).sort().join('\n');
}
