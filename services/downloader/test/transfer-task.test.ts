import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { ROLE } from '@wharf/rights';
import { postponedMs } from '@wharf/task-engine';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { z } from 'zod';
import { type savedTransfer, transferInput } from '../src/tasks/transfer-run.ts';
import { createTransferTasks } from '../src/tasks/transfer-task.ts';
import { createFakeFs, kitOf } from './fake-fs.ts';
import { makeDisk, mounts } from './small-disk.ts';

const MINUTE_MS = 60_000;
let dir: TempDir;
let now = 0;
beforeEach(async () => {
  dir = await makeTempDir('transfer-task');
  now = 1_000_000;
});
afterEach(() => dir.remove());

/** A transfer whose checkpoint goes from one replica to the next. */
function openTransfer(deletePolicy = 'delete_never') {
  const fs = createFakeFs();
  const kit = { ...kitOf(fs), clock: () => now };
  const seeds = { leaveFile: async () => false };
  const run = {
    input: transferInput.parse({
      ...{ parent: 'task-1', tool: 'aria2', name: 'film' },
      ...{ directory: '/in', mountPath: '/', innerPath: '/in', deletePolicy },
    }),
    creator: { id: 1, name: 'admin', role: ROLE.admin },
    signal: new AbortController().signal,
    logger: pino({ enabled: false }),
    checkpoint: undefined as z.output<typeof savedTransfer> | undefined,
    progress() {},
    async saveCheckpoint(saved: z.output<typeof savedTransfer>) {
      run.checkpoint = saved;
    },
    async assertLease() {},
  };
  const open = (toolsDir: string) => createTransferTasks({ kit, bytes: fs.bytes, seeds, toolsDir });
  return { fs, run, open };
}

it('a file whose storing was cut off is sent to the session that it was begun with, which knows whether it has its name', async () => {
  const { fs, run, open } = openTransfer();
  const folder = join(dir.path, 'aria2', 'task-1');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  fs.refuses = true;
  await expect(open(dir.path).run(run)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  const begun = run.checkpoint?.sessionId;
  fs.refuses = false;
  const sentTo: string[] = [];
  const { writeWhole } = fs.bytes;
  Object.assign(fs.bytes, { writeWhole: (...sent: Parameters<typeof writeWhole>) => [sentTo.push(sent[0].id), writeWhole(...sent)][1] });
  await open(dir.path).run(run);
  expect(sentTo).toEqual([begun]);
  expect([...fs.files.keys()]).toEqual(['/in/film']);
});

it('what cannot be read here is left to other replicas for a while, the rest of the tool is not', async () => {
  const { fs, run, open } = openTransfer();
  await mkdir(join(dir.path, 'aria2', 'task-1'), { recursive: true });
  await writeFile(join(dir.path, 'aria2', 'task-1', 'film'), 'a film');
  const blind = open(join(dir.path, 'elsewhere'));
  const error = await blind.run(run).catch(AppError.from);
  expect(error).toMatchObject({ message: 'waits for a downloader that can read what aria2 made' });
  expect(postponedMs(error)).toBe(1_000);
  expect(blind.unreadable()).toEqual(['task-1']);
  now += MINUTE_MS;
  expect(blind.unreadable()).toEqual([]);
  const seeing = open(dir.path);
  await seeing.run(run);
  expect(fs.files).toEqual(new Map([['/in/film', Buffer.from('a film')]]));
  expect(seeing.unreadable()).toEqual([]);
});

it('what no replica can read for an hour fails, and waits anew when it is retried', async () => {
  const { run, open } = openTransfer();
  const [first, second] = [open(dir.path), open(dir.path)];
  const waits = async (replica: typeof first) => postponedMs(await replica.run(run).catch((error: unknown) => error)) !== undefined;
  expect(await waits(first)).toBe(true);
  now += 59 * MINUTE_MS;
  expect(await waits(second)).toBe(true);
  now += MINUTE_MS;
  const failure = { code: 'FAILED_PRECONDITION', message: 'no downloader could read what aria2 made' };
  await expect(first.run(run)).rejects.toMatchObject(failure);
  expect(await waits(first)).toBe(true);
  now += 60 * MINUTE_MS;
  await expect(second.run(run)).rejects.toMatchObject(failure);
});

it('the hour begins anew when what was missing was read in between', async () => {
  const { run, fs, open } = openTransfer();
  const replica = open(dir.path);
  await expect(replica.run(run)).rejects.toThrowError('waits for');
  const folder = join(dir.path, 'aria2', 'task-1');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  fs.room = 0;
  await expect(replica.run(run)).rejects.toThrowError('quota exceeded');
  now += 61 * MINUTE_MS;
  await expect(open(join(dir.path, 'elsewhere')).run(run)).rejects.toThrowError('waits for');
});

it.each([
  ['a file', 'film'],
  ['a folder with an empty one', 'film/empty'],
])('%s that is stored, and removed here before its worker could say so, is not waited for', async (_, place) => {
  const { run, fs, open } = openTransfer('delete_always');
  const folder = join(dir.path, 'aria2', 'task-1');
  await mkdir(join(folder, place, '..'), { recursive: true });
  if (place === 'film') await writeFile(join(folder, 'film'), 'a film');
  else await mkdir(join(folder, place));
  await open(dir.path).run(run);
  await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  await open(dir.path).run(run);
  expect([...fs.files.keys()]).toEqual(place === 'film' ? ['/in/film'] : []);
});

it.each([
  ['one of its files has gone', (folder: string) => rm(join(folder, 'a'))],
  ['it has one more', (folder: string) => writeFile(join(folder, '0'), '')],
  ['one has another size', (folder: string) => writeFile(join(folder, 'c'), 'longer')],
])('a result is not gone on with by whoever takes it over when %s; a retry brings all of it', async (_, change) => {
  const { run, fs, open } = openTransfer();
  const folder = join(dir.path, 'aria2', 'task-1', 'film');
  await mkdir(folder, { recursive: true });
  for (const name of ['a', 'b', 'c']) await writeFile(join(folder, name), name);
  const { saveCheckpoint } = run;
  run.saveCheckpoint = async (saved) => {
    await saveCheckpoint(saved);
    if (saved.index === 1 && saved.sessionId !== '') throw new Error('killed');
  };
  await expect(open(dir.path).run(run)).rejects.toThrow('killed');
  run.saveCheckpoint = saveCheckpoint;
  await change(folder);
  await expect(open(dir.path).run(run)).rejects.toMatchObject({
    code: 'CONTENT_CORRUPT',
    message: 'what aria2 made changed while it was transferred',
  });
  expect([...fs.files.keys()]).toEqual(['/in/film/a']);
  const there = await Promise.all(
    (await readdir(folder)).map(async (name) => [`/in/film/${name}`, await readFile(join(folder, name))] as const),
  );
  await open(dir.path).run(run);
  expect(Object.fromEntries(fs.files)).toMatchObject(Object.fromEntries(there));
});

it.runIf(mounts)('what a delete_policy keeps stays while others find room on the disk for their downloads', async () => {
  const { filled } = await makeDisk();
  const folder = join(filled, 'aria2', 'task-1');
  const log: string[] = [];
  const store = async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'film'), 'a film');
    const { run, open } = openTransfer('delete_never');
    run.logger = pino({}, { write: (line) => void log.push(line) });
    await open(filled).run(run);
    return readdir(filled, { recursive: true });
  };
  expect(await store()).toContain(join('aria2', 'task-1', 'film'));
  expect(log).toEqual([]);
  await writeFile(join(filled, 'of others'), Buffer.alloc(31 * 1024 * 1024, 1));
  expect(await store()).not.toContain(join('aria2', 'task-1', 'film'));
  expect(log.join()).toContain('what its delete_policy keeps is removed');
});

it('C4: a file that is exchanged for a link after it was found is not read', async () => {
  const { run, fs, open } = openTransfer();
  const folder = join(dir.path, 'aria2', 'task-1');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  await writeFile(join(dir.path, 'secret'), 'secret');
  run.saveCheckpoint = async (saved) => {
    run.checkpoint = saved;
    // The tool does it between the look and the reading.
    await rm(join(folder, 'film'), { force: true });
    await symlink(join(dir.path, 'secret'), join(folder, 'film'));
  };
  await expect(open(dir.path).run(run)).rejects.toMatchObject({
    code: 'CONTENT_CORRUPT',
    message: 'a file changed while it was transferred',
  });
  expect([...fs.files.values()].map(String)).toEqual([]);
});
