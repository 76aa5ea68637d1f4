import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { at, type RunningProcess, waitFor } from '@wharf/harness';
import { type DownloadCluster, startDownloadCluster } from '../../e2e/support/download-cluster.ts';
import { startSourceServer } from '../../e2e/support/source-server.ts';
import type { LoadResult } from './load.ts';
import type { Contender, Work, WorkName } from './works.ts';

const REPLICAS = [1, 2, 4];
/** Of one connection to the source. */
const BYTES_PER_S = 4_000_000;
const FILE_BYTES = 4 * 1024 * 1024;
const LIMIT_MS = 300_000;
/** A downloader works on four of one user at a time, so four of them on sixteen: a whole number of turns for each, so that none waits for the last few. */
const FILES = { quick: 32, whole: 160 };

/** Many files from a source that gives each connection so much and no more, by one downloader and by several that share the queue. */
export async function prepareReplicaWorks(options: {
  readonly isQuick: boolean;
  readonly isWanted: (name: WorkName) => boolean;
  readonly keep: (stop: () => Promise<void>) => void;
}): Promise<Work[]> {
  if (!options.isWanted('fetch-replicas')) return [];
  const files = options.isQuick ? FILES.quick : FILES.whole;
  const source = await startSourceServer();
  options.keep(() => source.close());
  source.bytesPerSecond = BYTES_PER_S;
  for (let index = 0; index < files; index += 1) source.files.set(`/file-${index}.bin`, randomBytes(FILE_BYTES));
  // One connection for each file: what a downloader fetches at a time is its tasks.
  const cluster = await startDownloadCluster({ WHARF_DOWNLOAD_CONNECTIONS: '1' });
  options.keep(() => cluster.stop());
  const downloaders: RunningProcess<string>[] = [];
  const scaleTo = async (count: number) => {
    for (const one of downloaders.splice(count)) await one.stop();
    while (downloaders.length < count) downloaders.push(await cluster.startDownloader(downloaders.length));
  };
  await scaleTo(1);
  const contenders = REPLICAS.map(
    (count): Contender => ({
      server: {
        name: count === 1 ? '1 downloader' : `${count} downloaders`,
        base: source.url,
        pids: () => downloaders.map(({ pid }) => pid),
        stop: async () => {},
      },
      request: { method: 'GET', path: '/', headers: {}, expect: {} },
      prepare: () => scaleTo(count),
      drive: () => fetchAll(cluster, source),
    }),
  );
  return [
    {
      name: 'fetch-replicas',
      title: `${files} files of 4 MiB, ${BYTES_PER_S / 1e6} MB/s for each connection`,
      amount: { connections: 1, requests: files, limitMs: LIMIT_MS },
      warmUpRequests: 0,
      contenders,
      isTransfer: true,
    },
  ];
}

/** Downloads all and looks at what arrived. */
async function fetchAll(
  { caller, filesDir }: DownloadCluster,
  source: { readonly url: string; readonly files: ReadonlyMap<string, Buffer> },
): Promise<LoadResult> {
  const names = [...source.files.keys()];
  const startedAt = performance.now();
  await caller.call('/api/fs/add_offline_download', {
    urls: names.map((name) => source.url + name),
    path: '/local/arrived',
    tool: 'SimpleHttp',
    delete_policy: 'delete_always',
  });
  const undone = async () => at(await caller.get('/api/task/offline_download/undone?page=1&per_page=1'), 'data', 'length');
  await waitFor('the downloads', async () => (await undone()) === 0, { withinMs: LIMIT_MS, everyMs: 50 });
  const elapsedMs = performance.now() - startedAt;
  let failure: string | undefined;
  let bodyBytes = 0;
  for (const [name, content] of source.files) {
    const arrived = await readFile(join(filesDir, 'arrived', name)).catch(() => undefined);
    if (!arrived?.equals(content)) failure ??= `${name} did not arrive as it is`;
    bodyBytes += content.byteLength;
  }
  await rm(join(filesDir, 'arrived'), { recursive: true, force: true });
  return { requests: names.length, elapsedMs, bodyBytes, p50Ms: elapsedMs, p99Ms: elapsedMs, ...(failure && { failure }) };
}
