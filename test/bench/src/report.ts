import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { alignColumns } from './align-columns.ts';
import type { Wait } from './blocked.ts';
import type { Figures } from './figures.ts';
import type { RemoteResult } from './remote.ts';
import type { Work } from './works.ts';

/** What one server did in one work. */
export interface Result {
  readonly work: Work;
  readonly server: string;
  readonly rounds: readonly Figures[];
  readonly median: Figures;
}

/** Of one shape of Wharf. */
export interface ProcessFigures {
  readonly shape: string;
  readonly firstStartMs: number;
  readonly secondStartMs: number;
  readonly processes: number;
  /** Resident after the run, when nothing was to do for a while, all processes together. */
  readonly residentBytes: number;
  /** The same, each page divided by the number of processes that have it. */
  readonly proportionalBytes: number;
}

/** Resident memory of standalone after the run. */
const MEMORY_BUDGET_MIB = 200;
/** The same of five services with their store, bus and supervisor: 70 each. */
const MEMORY_BUDGET_APART_MIB = 560;
const JUDGED = 'standalone';
const APART = 'services';

/** The table as text: one line for each work and server. */
export function formatTable(results: readonly Result[]): string {
  const head = ['work', 'server', 'rate', 'p50 ms', 'p99 ms', 'CPU', 'peak MiB', 'grown MiB', 'to peer', 'budget'];
  const rows = results.map((result, index) => {
    const { work, server, median } = result;
    return [
      results[index - 1]?.work === work ? '' : work.title,
      server,
      work.isTransfer ? `${megabytes(median.bytesPerS)}/s` : `${rounded(median.requestsPerS)}/s`,
      rounded(median.p50Ms),
      rounded(median.p99Ms),
      work.isTransfer ? `${megabytes(median.bytesPerCpuS)}/CPU s` : cpuTime(median.cpuMsPerRequest),
      rounded(median.peakBytes / 1024 ** 2),
      rounded(median.grownBytes / 1024 ** 2),
      ratioText(result, results),
      verdict(result, results),
    ];
  });
  return alignColumns([head, ...rows]);
}

/** What the same request costs more when the services are processes of their own: gRPC, the proxy of bytes, and their shared machine. */
export function formatHops(results: readonly Result[]): string | undefined {
  const rows = results.flatMap((result) => {
    const { work, server, median } = result;
    const own = results.find((other) => other.work === work && other.server === JUDGED)?.median;
    if (server !== APART || own === undefined || work.isTransfer) return [];
    const [one, five] = [own.cpuMsPerRequest, median.cpuMsPerRequest];
    return [[work.title, '', cpuTime(one), cpuTime(five), cpuTime(five - one), `${(five / one).toFixed(2)}x`]];
  });
  return rows.length === 0 ? undefined : alignColumns([['hops', '', 'standalone', 'services', 'more', 'ratio'], ...rows]);
}

export function formatProcesses(processes: readonly ProcessFigures[]): string {
  const mebibytes = (bytes: number) => bytes / 1024 ** 2;
  const rows = processes.map(({ shape, firstStartMs, secondStartMs, residentBytes, proportionalBytes, processes: count }) => {
    const budget = shape === JUDGED ? MEMORY_BUDGET_MIB : shape === APART ? MEMORY_BUDGET_APART_MIB : undefined;
    const verdict = budget === undefined ? '' : `<= ${budget} MiB: ${mebibytes(proportionalBytes) <= budget ? 'ok' : 'over'}`;
    const memory = [rounded(mebibytes(proportionalBytes)), rounded(mebibytes(residentBytes))];
    return [shape, String(count), rounded(firstStartMs), rounded(secondStartMs), ...memory, verdict];
  });
  const memory = ['MiB at rest after the run', 'pages in each'];
  return alignColumns([['shape', 'processes', 'first start ms', 'second start ms', ...memory, 'budget'], ...rows]);
}

/** Writes `<folder>/<time>.json` and answers its path. */
export async function writeJson(
  folder: string,
  results: readonly Result[],
  processes: readonly ProcessFigures[],
  blocked: readonly Wait[],
  remote: readonly RemoteResult[],
): Promise<string> {
  const time = new Date().toISOString();
  const path = join(folder, `${time.replaceAll(':', '-')}.json`);
  const [cpu] = cpus();
  const document = {
    time,
    machine: { cpu: cpu?.model, cpus: cpus().length, memoryBytes: totalmem(), node: process.version, platform: process.platform },
    results: results.map((result) => ({
      work: result.work.name,
      title: result.work.title,
      server: result.server,
      ...result.median,
      ratioToPeer: ratioToPeer(result, results),
      budget: isJudged(result) ? result.work.budget?.text : undefined,
      isKept: isJudged(result) ? result.work.budget?.isKept(result.median, peerOf(result, results)?.median) : undefined,
      rounds: result.rounds,
    })),
    processes,
    blocked,
    remote,
  };
  await mkdir(folder, { recursive: true });
  await writeFile(path, `${JSON.stringify(document, undefined, 2)}\n`);
  return path;
}

function peerOf({ work }: Result, results: readonly Result[]): Result | undefined {
  return results.find((other) => other.work === work && other.server === work.peer);
}

/** Of CPU time per request; of transfers, of bytes per CPU second. */
function ratioToPeer(result: Result, results: readonly Result[]): number | undefined {
  const peer = peerOf(result, results);
  if (peer === undefined) return undefined;
  if (result.work.isTransfer) return result.median.bytesPerCpuS / peer.median.bytesPerCpuS;
  return result.median.cpuMsPerRequest / peer.median.cpuMsPerRequest;
}

function ratioText(result: Result, results: readonly Result[]): string {
  const ratio = ratioToPeer(result, results);
  return ratio === undefined ? '' : `${ratio.toFixed(2)}x`;
}

function isJudged({ work, server }: Result): boolean {
  return server === (work.judged ?? JUDGED) && work.budget !== undefined;
}

function verdict(result: Result, results: readonly Result[]): string {
  const { budget } = result.work;
  if (budget === undefined || !isJudged(result)) return '';
  return `${budget.text}: ${budget.isKept(result.median, peerOf(result, results)?.median) ? 'ok' : 'over'}`;
}

function cpuTime(ms: number): string {
  return ms < 1 ? `${rounded(ms * 1000)} us` : `${rounded(ms)} ms`;
}

function megabytes(bytes: number): string {
  return `${rounded(bytes / 1e6)} MB`;
}

/** To three digits, more where they are before the point. */
function rounded(value: number): string {
  if (!Number.isFinite(value)) return '-';
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
}
