import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { isAvailable, isMissing, makeTempDir, mountFoldingDisk, runCommand } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeTogether } from '../../src/domain/changing/small-files.ts';
import { at } from '../../src/driver-contract/conformance/driver-calls.ts';
import { DiskPool } from '../../src/drivers/local/disk-pool.ts';
import { createDiskThreads, DISK_THREADS } from '../../src/drivers/local/disk-threads.ts';
import { type LocalStorage, openLocal } from './open-local.ts';

const served = await mountFoldingDisk();
if (isAvailable('folding-disk', served)) await served.remove();

describe.runIf(isAvailable('folding-disk', served))('a disk that hangs', () => {
  /** A disk that hangs in the kernel from the call of `hang` on until it goes on, at the latest at the end of the test. */
  async function mounted() {
    const disk = await mountFoldingDisk();
    if (isMissing(disk)) throw new Error(disk.missing);
    onTestFinished(() => disk.remove());
    const { stdout } = await runCommand('pgrep', ['-f', `lowntfs-3g ${path.dirname(disk.path)}/`]);
    const [server] = stdout.trim().split('\n').map(Number);
    if (!server) throw new Error('nobody serves the disk');
    const goOn = () => void process.kill(server, 'SIGCONT');
    const hang = () => {
      onTestFinished(goOn);
      process.kill(server, 'SIGSTOP');
    };
    return { root: disk.path, hang, goOn };
  }

  it('a copy whose caller has left is not waited for without end', async () => {
    const { root, hang } = await mounted();
    await writeFile(path.join(root, 'file'), 'text');
    const pool = await opened(root, DISK_THREADS, 50);
    hang();
    const gone = new AbortController();
    const copied = pool.call('copy', [at('/file'), at('/copy'), false], gone.signal);
    // It goes to its thread at the end of this turn.
    await setImmediate();
    await setImmediate();
    gone.abort();
    await expect(copied).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('keeps its own of the threads that all share: others leave it, and it takes no further one', async () => {
    const { root, hang, goOn } = await mounted();
    const threads = createDiskThreads(2);
    const [hung, ...well] = [await opened(root, threads), ...(await openedFolders(5, threads))];
    hang();
    const late: Array<Promise<unknown>> = [];
    // As clients do who ask again.
    for (let round = 0; round < 6; round += 1) {
      late.push(hung.call('list', [at('/'), 0, false, false]));
      await Promise.all(well.map(answered));
    }
    // One that is saved meanwhile opens.
    await answered((await openedFolders(1, threads))[0] as DiskPool);
    expect(threads.count()).toBe(2);
    goOn();
    expect(await Promise.all(late)).toHaveLength(6);
  });

  it('holds up calls of a storage that is closed, which are not done any more, and leave no open file', async () => {
    const { root, hang, goOn } = await mounted();
    const threads = createDiskThreads(1);
    const hung = await opened(root, threads);
    const dir = await makeTempDir('closed');
    onTestFinished(() => dir.remove());
    const closed = await opened(dir.path, threads);
    await writeFile(path.join(dir.path, 'file'), 'text');
    hang();
    const late = hung.call('list', [at('/'), 0, false, false]);
    await setImmediate();
    await setImmediate();
    const said = Promise.allSettled([closed.call('makeDirectory', [at('/late')]), closed.call('open', [at('/file'), undefined])]);
    await closed.close();
    expect((await said).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const before = openFiles(dir.path);
    goOn();
    await late;
    await hung.call('stat', [at('/')]);
    expect([existsSync(path.join(dir.path, 'late')), openFiles(dir.path)]).toEqual([false, before]);
  });

  it('small files that are stored elsewhere in the same moment wait for nothing', async () => {
    const { root, hang, goOn } = await mounted();
    const dir = await makeTempDir('well');
    onTestFinished(() => dir.remove());
    const [hung, well] = [await openLocal(root), await openLocal(dir.path)];
    hang();
    const how = { content: Buffer.from('text'), overwrite: false, mayPublishUntil: async () => Number.MAX_VALUE };
    const storeIn = (driver: LocalStorage) =>
      Array.from({ length: 40 }, (_, index) => writeTogether(driver, { file: at(`/file ${index}`), ...how }, {}));
    let areStored = false;
    const late = Promise.all(storeIn(hung)).then((entries) => {
      areStored = true;
      return entries;
    });
    expect(await Promise.all(storeIn(well))).toHaveLength(40);
    expect(areStored).toBe(false);
    goOn();
    expect(await late).toHaveLength(40);
  });
});

async function opened(rootPath: string, threads: ReturnType<typeof createDiskThreads>, awaitedMs?: number): Promise<DiskPool> {
  const pool = new DiskPool(
    { rootPath, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined },
    awaitedMs,
    threads,
  );
  onTestFinished(() => pool.close());
  await pool.start(undefined);
  return pool;
}

async function openedFolders(count: number, threads: ReturnType<typeof createDiskThreads>): Promise<DiskPool[]> {
  const dir = await makeTempDir('well');
  onTestFinished(() => dir.remove());
  const folders = Array.from({ length: count }, (_, number) => path.join(dir.path, `${number}`));
  return Promise.all(folders.map((folder) => mkdir(folder).then(() => opened(folder, threads))));
}

/** Asks again, as clients do: a call may have come to a thread in the moment in which another storage began to hang. */
async function answered(pool: DiskPool): Promise<void> {
  const isAnswered = new AbortController();
  while (!isAnswered.signal.aborted) {
    void pool.call('stat', [at('/')]).then(
      () => isAnswered.abort(),
      () => undefined,
    );
    await delay(20, undefined, { signal: isAnswered.signal }).catch(() => undefined);
  }
}

function openFiles(folder: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(folder)).length;
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
