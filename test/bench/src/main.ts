import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startHttpServer } from '@wharf/harness';
import { formatBlocked, measureBlocked } from './blocked.ts';
import { saveDriverFigures } from './driver-figures.ts';
import { prepareFetchWorks } from './fetch-works.ts';
import { type Figures, medianOf } from './figures.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { type LoadGenerator, startLoadGenerator } from './load.ts';
import { measure, WrongAnswer } from './measure.ts';
import { type BenchOptions, parseOptions } from './options.ts';
import { preparePartWorks } from './part-works.ts';
import { proportionalBytes, readUsage } from './process-usage.ts';
import { formatRemote, measureRemote, type RemoteResult } from './remote.ts';
import { prepareReplicaWorks } from './replica-works.ts';
import { formatHops, formatProcesses, formatTable, type ProcessFigures, type Result, writeJson } from './report.ts';
import { prepareSearchWorks } from './search-works.ts';
import { type Server, startBareNode, startExpress, startNginx, startRclone, startTusd } from './servers.ts';
import { prepareTransferWorks } from './transfer-works.ts';
import { startWharf, type WharfServer } from './wharf-server.ts';
import { type Contender, prepareWorks, WORKS, type Work, type WorkName } from './works.ts';

const RESULTS_DIR = fileURLToPath(new URL('../../../bench-results/', import.meta.url));

/** Until a server that has nothing to do has put things away: threads that nobody needs end after a minute. */
const AT_REST_MS = 75_000;

const stopping: Array<() => Promise<void>> = [];
let failures = 0;
let isInterrupted = false;
/** What was started last stops first; what cannot be stopped keeps nothing else from it. */
const stopAll = async () => {
  for (const stop of stopping.splice(0).reverse()) await stop().catch((error: unknown) => console.error(error));
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    if (isInterrupted) return;
    isInterrupted = true;
    void stopAll().finally(() => process.exit(1));
  });
try {
  if (process.platform !== 'linux') throw new Error('the benchmarks read /proc: they run on Linux only');
  await bench(parseOptions(process.argv.slice(2), WORKS));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  failures += 1;
} finally {
  await stopAll();
}
process.exitCode = failures > 0 ? 1 : 0;

async function bench(options: BenchOptions): Promise<void> {
  const { isQuick, only } = options;
  const generator = startLoadGenerator();
  stopping.push(() => generator.stop());
  console.error('making files');
  const fixture = await makeFixture(isQuick);
  stopping.push(() => fixture.remove());
  const keep = <Kind extends Server | undefined>(server: Kind): Kind => {
    if (server) stopping.push(() => server.stop());
    return server;
  };
  const isWanted = (name: WorkName) => only === undefined || only.includes(name);
  console.error('starting servers');
  const wharfs: WharfServer[] = [];
  const collector = options.isTraced
    ? await startHttpServer((request, response) => void request.resume().on('end', () => response.end()))
    : undefined;
  if (collector) stopping.push(() => collector.stop());
  for (const shape of options.shapes) {
    wharfs.push(keep(await startWharf(shape, fixture, options.cpuProfileDir)));
    if (!collector) continue;
    const traced = { name: 'traced', env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } };
    wharfs.push(keep(await startWharf(shape, fixture, options.cpuProfileDir, traced)));
  }
  const results = only?.every((name) => name === 'blocked' || name === 'remote')
    ? []
    : await runWorks(options, fixture, wharfs, generator, keep);
  const whole = wharfs.filter(({ isForBytes }) => !isForBytes);
  const blocked = isWanted('blocked') ? await measureBlocked(whole, fixture, options.rounds) : [];
  const save = async (results: readonly RemoteResult[]) => {
    if (options.savesRemote) console.error(`saved to ${await saveDriverFigures(results)}: npm run gen`);
  };
  const remote = isWanted('remote') ? await measureRemote(whole, fixture, generator, options.rounds, options.storages, save) : [];
  if (isInterrupted) return;
  if (results.length > 0) {
    console.error('at rest');
    await delay(AT_REST_MS);
  }
  const processes = wharfs.map(({ name, pids, firstStartMs, secondStartMs }): ProcessFigures => {
    const { residentBytes, processes: count } = readUsage(pids());
    return { shape: name, firstStartMs, secondStartMs, residentBytes, proportionalBytes: proportionalBytes(pids()), processes: count };
  });
  const tables = [
    results.length > 0 ? formatTable(results) : undefined,
    formatHops(results),
    blocked.length > 0 ? formatBlocked(blocked) : undefined,
    remote.length > 0 ? formatRemote(remote) : undefined,
    results.length > 0 ? formatProcesses(processes) : undefined,
  ];
  console.log(`\n${tables.filter((table) => table !== undefined).join('\n\n')}\n`);
  console.log(`written to ${await writeJson(RESULTS_DIR, results, processes, blocked, remote)}`);
}

/** Everything that is compared with other servers. */
async function runWorks(
  options: BenchOptions,
  fixture: Fixture,
  all: readonly WharfServer[],
  generator: LoadGenerator,
  keep: <Kind extends Server | undefined>(server: Kind) => Kind,
): Promise<Result[]> {
  const { isQuick, only } = options;
  const isWanted = (name: WorkName) => only === undefined || only.includes(name);
  const wharfs = all.filter(({ isForBytes }) => !isForBytes);
  const field = {
    wharfs,
    direct: all.filter(({ isForBytes }) => isForBytes),
    express: keep(await startExpress()),
    node: keep(await startBareNode(fixture)),
    nginx: keep(await startNginx(fixture)),
    rclone: keep(await startRclone(fixture)),
  };
  const keepStop = (stop: () => Promise<void>) => void stopping.push(stop);
  const works = [
    ...(await prepareWorks(field, fixture, isQuick)),
    ...(isWanted('parts') || isWanted('parts-4')
      ? preparePartWorks({ wharfs, tusd: keep(await startTusd(fixture)), fixture, generator })
      : []),
    ...(await prepareTransferWorks({ wharfs, fixture, isQuick, isWanted, keep: keepStop })),
    ...(await prepareFetchWorks({ wharfs, source: field.node, fixture, isWanted, keep: keepStop })),
    ...(await prepareReplicaWorks({ isQuick, isWanted, keep: keepStop })),
    ...(await prepareSearchWorks({
      wharfs,
      fixture,
      isQuick,
      isWanted,
      isNamed: (name) => only?.includes(name) === true,
      keep: keepStop,
    })),
  ];

  const results: Result[] = [];
  for (const work of works.filter(({ name }) => only === undefined || only.includes(name))) {
    console.error(work.title);
    results.push(...(await inTurn(generator, work, options.rounds)));
    if (isInterrupted) break;
  }
  return results;
}

/** Every server does one round, then every server the next: what disturbs the machine for a while disturbs all alike. */
async function inTurn(generator: LoadGenerator, work: Work, rounds: number): Promise<Result[]> {
  const measured = new Map<Contender, Figures[]>(work.contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [contender, figures] of measured)
      try {
        figures.push(await measure(generator, contender, work, round === 0));
      } catch (error) {
        if (isInterrupted) return [];
        if (!(error instanceof WrongAnswer)) throw error;
        console.error(error.message);
        failures += 1;
        measured.delete(contender);
      }
  return [...measured].map(([{ server }, figures]) => ({ work, server: server.name, rounds: figures, median: medianOf(figures) }));
}
