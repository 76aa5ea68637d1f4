import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, at, type RunningProcess, waitFor } from '@wharf/harness';
import { startDownloadCluster } from './download-cluster.ts';
import { startSourceServer } from './source-server.ts';

export interface ChaosOptions {
  readonly replicas: number;
  readonly files: number;
  /** Bytes of the biggest file; sizes are spread below it. */
  readonly maxFileBytes: number;
  /** Milliseconds between two kills, and how long they go on. */
  readonly killEveryMs: number;
  readonly killForMs: number;
  /** Each once, in the middle. */
  readonly restartsBus: boolean;
  readonly restartsStore: boolean;
  /** Of one connection of the source; 0: no limit. */
  readonly bytesPerSecond: number;
  readonly tell: (text: string) => void;
}

export interface ChaosReport {
  readonly files: number;
  /** Files that arrived byte by byte as they are. */
  readonly arrived: number;
  /** Names that are there and should not be: a file that came twice has a number in its name. */
  readonly surplus: readonly string[];
  readonly damaged: readonly string[];
  /** What was left on the way. */
  readonly debris: readonly string[];
  /** Tasks that did not succeed, with their errors. */
  readonly failed: readonly string[];
  readonly kills: number;
  readonly fetchedBytes: number;
  readonly contentBytes: number;
  readonly seconds: number;
}

const ENDED_WITHIN_MS = 600_000;

/** Downloads many files with several downloaders, of which one after the other is killed, and looks at what arrived. */
export async function runDownloadChaos(options: ChaosOptions): Promise<ChaosReport> {
  const source = await startSourceServer();
  source.bytesPerSecond = options.bytesPerSecond;
  const cluster = await startDownloadCluster().catch(async (error) => {
    await source.close();
    throw error;
  });
  try {
    const files = new Map<string, Buffer>();
    for (let index = 0; index < options.files; index++) {
      const sizeBytes = Math.floor((options.maxFileBytes * ((index * 7919) % options.files)) / Math.max(1, options.files - 1));
      files.set(`file-${index}.bin`, randomBytes(sizeBytes));
    }
    for (const [name, content] of files) source.files.set(`/${name}`, content);
    const contentBytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);

    const { caller, filesDir } = cluster;
    const workers: Promise<RunningProcess<string>>[] = [];
    for (let index = 0; index < options.replicas; index++) workers.push(cluster.startDownloader(index));
    await Promise.all(workers);

    const startedAt = Date.now();
    await caller.call('/api/fs/add_offline_download', {
      urls: [...files.keys()].map((name) => `${source.url}/${name}`),
      path: '/local/arrived',
      tool: 'SimpleHttp',
      delete_policy: 'delete_always',
    });
    let kills = 0;
    let hasRestarted = false;
    while (Date.now() - startedAt < options.killForMs && (await undone(caller)) > 0) {
      await delay(Math.max(0, startedAt + (kills + 1) * options.killEveryMs - Date.now()));
      const index = kills % options.replicas;
      await (await workers[index])?.kill();
      kills += 1;
      // The next one is killed when its time has come, whether this one is back or not.
      workers[index] = cluster.startDownloader(index);
      workers[index].catch(() => undefined);
      options.tell(`killed downloader ${index + 1}, ${await undone(caller)} downloads are left`);
      if (hasRestarted || Date.now() - startedAt < options.killForMs / 2) continue;
      hasRestarted = true;
      if (options.restartsBus) {
        await cluster.restartBus();
        options.tell('the bus was killed and started again');
      }
      if (options.restartsStore) {
        await cluster.restartStore();
        options.tell('the store was killed and started again');
      }
    }
    await waitFor('all downloads to end', async () => (await undone(caller)) === 0, { withinMs: ENDED_WITHIN_MS, everyMs: 500 });
    const seconds = (Date.now() - startedAt) / 1000;
    await Promise.all(workers);

    const arrived = await readdir(join(filesDir, 'arrived'));
    const damaged: string[] = [];
    for (const [name, content] of files) {
      const found = arrived.includes(name) ? await readFile(join(filesDir, 'arrived', name)) : undefined;
      if (!found?.equals(content)) damaged.push(name);
    }
    const done = await tasksOf(caller, 'done');
    return {
      files: files.size,
      arrived: files.size - damaged.length,
      surplus: arrived.filter((name) => !files.has(name)),
      damaged,
      debris: await readdir(join(filesDir, '.wharf-tmp')).catch(() => []),
      failed: done.filter((task) => at(task, 'state') !== 2).map((task) => `${at(task, 'name')}: ${at(task, 'error')}`),
      kills,
      fetchedBytes: source.sentBytes(),
      contentBytes,
      seconds,
    };
  } finally {
    await cluster.stop();
    await source.close();
  }
}

async function tasksOf(caller: Api, list: 'done' | 'undone'): Promise<unknown[]> {
  const answer = await caller.get(`/api/task/offline_download/${list}`);
  return Array.isArray(answer.data) ? answer.data : [];
}

/** A store that is being started again answers nobody: then nothing is known, and something may be left. */
async function undone(caller: Api): Promise<number> {
  const answer = await caller.get('/api/task/offline_download/undone');
  return Array.isArray(answer.data) ? answer.data.length : 1;
}
