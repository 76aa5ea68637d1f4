import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir, waitFor } from '@wharf/harness';
import type { Task } from '@wharf/proto/task';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { as, type FsProcess, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';

/** Files of the big folder; the whole size that is promised takes minutes. */
const FILES = Number(process.env['WHARF_TEST_COPY_FILES'] ?? 2_000);
const LIMIT_MS = 60_000 + FILES * 20;
/** When the files were last changed, in seconds. */
const MODIFIED_S = 1_600_000_000;

let installation: Installation;
let dir: TempDir;
let source: string;
let last = 0;
const running: FsProcess[] = [];

beforeAll(async () => {
  installation = await openInstallation();
  dir = await makeTempDir('task-copies');
  source = join(dir.path, 'source');
  await mkdir(join(source, 'big', 'empty', 'deeper'), { recursive: true });
  await mkdir(join(source, 'big', 'sub'));
  for (let index = 0; index < FILES; index += 1) {
    const place = join(source, 'big', index % 10 === 0 ? 'sub' : '', `file-${index}.txt`);
    await writeFile(place, `the content of file ${index}\n`.repeat(1 + (index % 40)));
    await utimes(place, MODIFIED_S + index, MODIFIED_S + index);
  }
  await installation.login({ id: 1, permission: 0xffff });
  await installation.writeStorage({ _id: 1, mount_path: '/from', addition: JSON.stringify({ root_folder_path: source }) });
}, LIMIT_MS);
afterEach(async () => {
  for (const process of running.splice(0)) await process.stop();
});
afterAll(async () => {
  await installation?.close();
  await dir?.remove();
}, LIMIT_MS);

async function start(): Promise<FsProcess> {
  const process = await startFsProcess(installation);
  running.push(process);
  return process;
}

/** A storage that is empty: where it is mounted, and its folder. */
async function emptyStorage(): Promise<{ mount: string; root: string }> {
  const id = 100 + ++last;
  const root = join(dir.path, `target-${id}`);
  await mkdir(root);
  const mount = `/to-${id}`;
  await installation.writeStorage({ _id: id, mount_path: mount, addition: JSON.stringify({ root_folder_path: root }) });
  return { mount, root };
}

async function beginCopy(process: FsProcess, mount: string, verb: 'copyEntries' | 'moveEntries' = 'copyEntries'): Promise<string> {
  const request = { src_dir: '/from', dst_dir: mount, names: ['big'], overwrite: false, skip_existing: false, merge: false };
  let tasks: Task[] = [];
  await waitFor('the storage to be known', async () => {
    ({ tasks } = await process.fs[verb](request, as()));
    return true;
  });
  expect(tasks).toMatchObject([{ name: expect.stringMatching(/^(copy|move) \[\/from\]\(\/big\) to \[\/to-\d+\]\(\/\)$/), state: 0 }]);
  return tasks[0]?.id ?? '';
}

/** Every file below a folder, with what tells its content, its time and one writing of it from another. */
async function filesBelow(root: string): Promise<Map<string, { digest: string; mtimeMs: number; ino: number }>> {
  const files = new Map<string, { digest: string; mtimeMs: number; ino: number }>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])) {
    const place = join(entry.parentPath, entry.name);
    if (!entry.isFile() || place.includes('.wharf-tmp')) continue;
    const { mtimeMs, ino } = await stat(place);
    files.set(place.slice(root.length), {
      digest: createHash('sha256')
        .update(await readFile(place))
        .digest('hex'),
      mtimeMs,
      ino,
    });
  }
  return files;
}

async function foldersBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.wharf-tmp'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort();
}

const contents = (files: Map<string, { digest: string; mtimeMs: number }>) =>
  [...files].map(([path, { digest, mtimeMs }]) => `${path} ${digest} ${mtimeMs}`).sort();

async function countIn(folder: string): Promise<number> {
  return (await readdir(folder).catch(() => [])).length;
}

async function expectWhole(root: string): Promise<void> {
  expect(contents(await filesBelow(join(root, 'big')))).toEqual(contents(await filesBelow(join(source, 'big'))));
  expect(await foldersBelow(join(root, 'big'))).toEqual(['/empty', '/empty/deeper', '/sub']);
}

/** Files that were whole at one moment, and that another attempt wrote again. */
function writtenAgain(before: Map<string, { ino: number }>, after: Map<string, { ino: number }>): string[] {
  return [...before].filter(([path, { ino }]) => after.get(path)?.ino !== ino).map(([path]) => path);
}

const until = (what: string, condition: () => Promise<boolean>) => waitFor(what, condition, { withinMs: LIMIT_MS });

it(
  'a copy survives the end of its worker: another goes on, nothing is copied twice, and every byte, time and empty folder is there',
  async () => {
    const { mount, root } = await emptyStorage();
    const first = await start();
    const id = await beginCopy(first, mount);
    await until('a part to be copied', async () => (await countIn(join(root, 'big'))) > FILES / 4);
    await first.kill();
    running.splice(running.indexOf(first), 1);
    const second = await start();
    const before = await filesBelow(join(root, 'big'));
    expect(before.size).toBeLessThan(FILES);
    await until('another worker to go on', async () => (await countIn(join(root, 'big'))) > before.size + 10);
    await until('the end', async () => [2, 4, 7].includes((await second.task('copy', id)).state));
    expect(await second.task('copy', id)).toMatchObject({ state: 2, progress: 100, error: '', status: 'uploading' });
    expect(writtenAgain(before, await filesBelow(join(root, 'big')))).toEqual([]);
    await expectWhole(root);
  },
  LIMIT_MS * 2,
);

it(
  'a paused copy stands still, and goes on where it was',
  async () => {
    const { mount, root } = await emptyStorage();
    const process = await start();
    const id = await beginCopy(process, mount);
    await until('a part to be copied', async () => (await countIn(join(root, 'big'))) > 300);
    await process.tasks.controlTasks({ list: 'copy', action: 'pause', ids: [id] }, as());
    await until('the pause', async () => (await process.task('copy', id)).state === 0);
    expect(await process.task('copy', id)).toMatchObject({ paused: true, status: 'paused' });
    const before = await filesBelow(join(root, 'big'));
    expect(before.size).toBeLessThan(FILES);
    expect(await readdir(root)).toEqual(['big']);
    await process.tasks.controlTasks({ list: 'copy', action: 'resume', ids: [id] }, as());
    await until('the end', async () => (await process.task('copy', id)).state === 2);
    expect(writtenAgain(before, await filesBelow(join(root, 'big')))).toEqual([]);
    await expectWhole(root);
  },
  LIMIT_MS * 2,
);

it(
  'a cancelled copy leaves whole files and no temporary ones, and a retry copies the rest',
  async () => {
    const { mount, root } = await emptyStorage();
    const process = await start();
    const id = await beginCopy(process, mount);
    await until('a part to be copied', async () => (await countIn(join(root, 'big'))) > 300);
    await process.tasks.controlTasks({ list: 'copy', action: 'cancel', ids: [id] }, as());
    await until('the cancel', async () => (await process.task('copy', id)).state === 4);
    const before = await filesBelow(join(root, 'big'));
    expect(before.size).toBeLessThan(FILES);
    expect(await readdir(root)).toEqual(['big']);
    const originals = new Set(contents(await filesBelow(join(source, 'big'))));
    expect(contents(before).filter((file) => !originals.has(file))).toEqual([]);
    await process.tasks.controlTasks({ list: 'copy', action: 'retry', ids: [id] }, as());
    await until('the end', async () => (await process.task('copy', id)).state === 2);
    expect(writtenAgain(before, await filesBelow(join(root, 'big')))).toEqual([]);
    await expectWhole(root);
  },
  LIMIT_MS * 2,
);

it(
  'a move survives the end of its worker: everything is at the target, nothing at the source, and no file was written twice',
  async () => {
    const [there, back] = [await emptyStorage(), await emptyStorage()];
    await cp(join(source, 'big'), join(there.root, 'big'), { recursive: true, preserveTimestamps: true });
    const second = await start();
    const first = await start();
    const request = { src_dir: there.mount, dst_dir: back.mount, names: ['big'], overwrite: false, skip_existing: false };
    const { tasks } = await first.fs.moveEntries(request, as());
    const id = tasks[0]?.id ?? '';
    const listed = await countIn(join(there.root, 'big'));
    await until('sources to be removed', async () => (await countIn(join(there.root, 'big'))) < listed);
    const before = await filesBelow(join(back.root, 'big'));
    // Whoever works on it ends; the one that is left goes on.
    await first.kill();
    running.splice(running.indexOf(first), 1);
    await until('the end', async () => [2, 4, 7].includes((await second.task('move', id)).state));
    expect(await second.task('move', id)).toMatchObject({ state: 2, error: '' });
    expect(writtenAgain(before, await filesBelow(join(back.root, 'big')))).toEqual([]);
    await expectWhole(back.root);
    expect(await readdir(there.root)).toEqual([]);
  },
  LIMIT_MS * 3,
);
