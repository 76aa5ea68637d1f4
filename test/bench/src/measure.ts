import { utimesSync } from 'node:fs';
import type { Figures } from './figures.ts';
import { type LoadAmount, type LoadGenerator, type LoadJob, type LoadResult, startLoadGenerator } from './load.ts';
import { readUsage, resetPeaks } from './process-usage.ts';
import type { Contender, Work } from './works.ts';

/** Well below the second after which the names of a folder may be kept. */
const UNSETTLED_EVERY_MS = 200;

/** A server that answered wrongly. */
export class WrongAnswer extends Error {}

/** Warms the server up and measures one round. @throws WrongAnswer */
export async function measure(generator: LoadGenerator, contender: Contender, work: Work, isFirst: boolean): Promise<Figures> {
  const { server, request, beside, unsettled, prepare, drive } = contender;
  const run = async (amount: LoadAmount, asked = request, by = generator): Promise<LoadResult> => {
    const job: LoadJob = { base: server.base, ...asked, ...amount };
    const result = drive ? await drive() : await by.run(job);
    if (result.failure !== undefined) throw new WrongAnswer(`${work.title} by ${server.name}: ${result.failure}`);
    return result;
  };
  await prepare?.();
  const pids = server.pids();
  // The code is warm after the first round; a connection and a cache still need a few.
  const warmUp = isFirst ? work.warmUpRequests : Math.ceil(work.warmUpRequests / 10);
  if (warmUp > 0) await run({ ...work.amount, requests: warmUp });
  resetPeaks(pids);
  const before = readUsage(pids);
  const others = beside && startLoadGenerator();
  const otherRun = others && run(beside, beside, others).finally(() => others.stop());
  const touching = unsettled === undefined ? undefined : keepUnsettled(unsettled);
  const [result] = await Promise.all([run(work.amount), otherRun]).finally(() => clearInterval(touching));
  const after = readUsage(pids);
  const cpuMs = after.cpuMs - before.cpuMs;
  return {
    requestsPerS: (result.requests * 1000) / result.elapsedMs,
    bytesPerS: (result.bodyBytes * 1000) / result.elapsedMs,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuMsPerRequest: cpuMs / result.requests,
    bytesPerCpuS: (result.bodyBytes * 1000) / cpuMs,
    peakBytes: after.peakBytes,
    grownBytes: after.peakBytes - before.residentBytes,
  };
}

function keepUnsettled(folder: string): NodeJS.Timeout {
  const touch = () => utimesSync(folder, new Date(), new Date());
  touch();
  return setInterval(touch, UNSETTLED_EVERY_MS);
}
