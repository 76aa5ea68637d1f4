import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { type Api, api, at, ensureCommand, isMissing, makeTempDir, waitFor } from '@wharf/harness';
import { fasterWithin } from './budget.ts';
import type { Fixture } from './fixture.ts';
import type { LoadResult } from './load.ts';
import type { Server } from './servers.ts';
import type { WharfServer } from './wharf-server.ts';
import type { Contender, Work, WorkName } from './works.ts';

const LIMIT_MS = 900_000;
const ARIA2 = 'aria2c -x8';

/** One big file from the source, bare Node on this machine, into a folder: by an offline download, by aria2c and by curl. */
export async function prepareFetchWorks(options: {
  readonly wharfs: readonly WharfServer[];
  readonly source: Server;
  readonly fixture: Fixture;
  readonly isWanted: (name: WorkName) => boolean;
  readonly keep: (stop: () => Promise<void>) => void;
}): Promise<Work[]> {
  const { wharfs, source, fixture, isWanted, keep } = options;
  if (!isWanted('fetch')) return [];
  const dir = await makeTempDir('bench-fetch');
  keep(() => dir.remove());
  const url = `${source.base}/big.bin`;
  const bytes = fixture.sizeBytes.big;
  const request = { method: 'GET', path: '/', headers: {}, expect: {} } as const;
  const contenders: Contender[] = wharfs.map((server) => ({
    server,
    request,
    drive: () => fetchBy(api(server.base, server.token), join(fixture.filesDir, `fetched-${server.name}`), url, bytes),
  }));
  for (const [name, packageName, args] of [
    ['aria2c', 'aria2', `-x8 -s8 --quiet --allow-overwrite=true --file-allocation=none -d . -o aria2.bin ${url}`],
    ['curl', 'curl', `--silent --fail -o curl.bin ${url}`],
  ] as const) {
    const program = await ensureCommand(name, packageName);
    if (isMissing(program)) {
      console.error(`without ${name}: ${program.missing}`);
      continue;
    }
    const shell = startShell(name === 'aria2c' ? ARIA2 : name, dir.path);
    keep(() => shell.server.stop());
    contenders.push({ server: shell.server, request, drive: () => shell.run(`${program.path} ${args}`, bytes) });
  }
  return [
    {
      name: 'fetch',
      title: `offline download of ${bytes / 1024 ** 2} MiB`,
      amount: { connections: 1, requests: 1, limitMs: LIMIT_MS },
      warmUpRequests: 0,
      contenders,
      peer: ARIA2,
      budget: fasterWithin(100e6),
      isTransfer: true,
    },
  ];
}

async function fetchBy(caller: Api, folder: string, url: string, bytes: number): Promise<LoadResult> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const startedAt = performance.now();
  const answer = await caller.call('/api/fs/add_offline_download', {
    urls: [url],
    path: `/local/${folder.split('/').at(-1)}`,
    tool: 'SimpleHttp',
    delete_policy: 'delete_always',
  });
  const id = at(answer, 'tasks', 0, 'id');
  let task: unknown;
  await waitFor(
    'the download',
    async () => {
      task = await caller.call(`/api/task/offline_download/info?tid=${id}`, {});
      return [2, 4, 7].includes(Number(at(task, 'state')));
    },
    { withinMs: LIMIT_MS, everyMs: 100 },
  );
  const elapsedMs = performance.now() - startedAt;
  await rm(folder, { recursive: true, force: true });
  return resultOf(elapsedMs, bytes, at(task, 'state') === 2 ? undefined : `the download failed: ${at(task, 'error')}`);
}

/** A shell that runs programs one after the other: what they use is counted as its own. */
function startShell(name: string, cwd: string): { server: Server; run: (command: string, bytes: number) => Promise<LoadResult> } {
  const child = spawn('sh', [], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: Interface = createInterface({ input: child.stdout });
  return {
    server: {
      name,
      base: 'http://127.0.0.1',
      pids: () => [child.pid ?? 0],
      async stop() {
        // A signal to our whole group has ended it without a code.
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.stdin.end();
        await once(child, 'exit');
      },
    },
    async run(command, bytes) {
      const startedAt = performance.now();
      child.stdin.write(`${command}\necho "ended $?"\n`);
      const [line] = await once(lines, 'line');
      return resultOf(performance.now() - startedAt, bytes, line === 'ended 0' ? undefined : `${name} ${line}`);
    },
  };
}

function resultOf(elapsedMs: number, bodyBytes: number, failure: string | undefined): LoadResult {
  return { requests: 1, elapsedMs, bodyBytes, p50Ms: elapsedMs, p99Ms: elapsedMs, ...(failure === undefined ? {} : { failure }) };
}
