/** What one server did in one round, or the medians of several. */
export interface Figures {
  readonly requestsPerS: number;
  /** Bodies, both ways. */
  readonly bytesPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of all the server's processes and threads. */
  readonly cpuMsPerRequest: number;
  readonly bytesPerCpuS: number;
  /** The most that was resident in the round, all processes together. */
  readonly peakBytes: number;
  /** How much more than before the round, when the server had nothing to do. */
  readonly grownBytes: number;
}

export function medianOf(rounds: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => {
    const sorted = rounds.map((round) => round[key]).sort((left, right) => left - right);
    const middle = Math.floor(sorted.length / 2);
    const high = sorted[middle] ?? Number.NaN;
    return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2;
  };
  return {
    requestsPerS: of('requestsPerS'),
    bytesPerS: of('bytesPerS'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    cpuMsPerRequest: of('cpuMsPerRequest'),
    bytesPerCpuS: of('bytesPerCpuS'),
    peakBytes: of('peakBytes'),
    grownBytes: of('grownBytes'),
  };
}
