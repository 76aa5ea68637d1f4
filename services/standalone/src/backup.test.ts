import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { expect, it, onTestFinished } from 'vitest';
import { tellBackup } from './backup.ts';

const REFUSED = /is being made already; make another one when it has ended/;

/** A data folder with a store that nobody has open. */
async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'wharf-backup-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const dataDir = join(dir, 'data');
  const store = await startEmbeddedMongo({ dataDir: join(dataDir, 'store') });
  await store.stop();
  const config = { dataDir, filesDir: join(dataDir, 'files'), mongoUrl: undefined, secret: undefined };
  return { dir, dataDir, backUp: (name: string) => tellBackup(config, join(dir, name)) };
}

it('of two backups of one folder at a time one is refused, and leaves the other one what it has made', async () => {
  const { dir, backUp } = await openFolder();
  const names = ['one.tar', 'other.tar'];
  const ends = await Promise.allSettled(names.map(backUp));
  const refused = ends.filter((end) => end.status === 'rejected').map(({ reason }) => String(reason));
  expect(refused).toEqual([expect.stringMatching(REFUSED)]);
  const made = names.filter((_, index) => ends[index]?.status === 'fulfilled');
  expect((await readdir(dir)).toSorted()).toEqual(['data', ...made]);
  await expect(backUp('third.tar')).resolves.toContain('third.tar has the store');
});

it("a backup that was killed is in no later one's way", async () => {
  const { dataDir, backUp } = await openFolder();
  const held = `const { lockBackups } = await import(${JSON.stringify(new URL('backup-lock.ts', import.meta.url).href)});
    globalThis.kept = await lockBackups(${JSON.stringify(dataDir)});
    console.log('held');
    setInterval(() => {}, 60_000);`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', held], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void other.kill('SIGKILL'));
  const ended = once(other, 'exit');
  await once(other.stdout, 'data');
  await expect(backUp('one.tar')).rejects.toThrow(REFUSED);
  other.kill('SIGKILL');
  await ended;
  await expect(backUp('one.tar')).resolves.toContain('one.tar has the store');
});
