import type { Figures } from './figures.ts';

/** What a work may cost, and whether it did. */
export interface Budget {
  /** As in the table. */
  readonly text: string;
  isKept(own: Figures, peer: Figures | undefined): boolean;
}

/** CPU time per request, as a multiple of the peer's. */
export function atMostRatio(ratio: number): Budget {
  return {
    text: `<= ${ratio}x`,
    isKept: (own, peer) => peer !== undefined && own.cpuMsPerRequest <= ratio * peer.cpuMsPerRequest,
  };
}

export function atMostTimes({ cpuMs, p50Ms }: { cpuMs: number; p50Ms: number }): Budget {
  return {
    text: `<= ${cpuMs} ms CPU, p50 < ${p50Ms} ms`,
    isKept: (own) => own.cpuMsPerRequest <= cpuMs && own.p50Ms < p50Ms,
  };
}

/** Bytes per second of CPU time, as a part of the peer's. */
export function shareOfPeer(share: number): Budget {
  return {
    text: `>= ${share}x`,
    isKept: (own, peer) => peer !== undefined && own.bytesPerCpuS >= share * peer.bytesPerCpuS,
  };
}

/** The middle of all answers. */
export function p50Below(p50Ms: number): Budget {
  return { text: `p50 < ${p50Ms} ms`, isKept: (own) => own.p50Ms < p50Ms };
}

/** Faster than the peer, with so much more memory than before at most. */
export function fasterWithin(grownBytes: number): Budget {
  return {
    text: `faster, <= ${grownBytes / 1e6} MB more`,
    isKept: (own, peer) => peer !== undefined && own.bytesPerS > peer.bytesPerS && own.grownBytes <= grownBytes,
  };
}

export function bytesPerCpuSecond(bytes: number): Budget {
  return { text: `>= ${bytes / 1e6} MB/CPU s`, isKept: (own) => own.bytesPerCpuS >= bytes };
}

/** The slowest of a hundred answers, as a multiple of the peer's. */
export function p99AtMost(ratio: number): Budget {
  return { text: `p99 <= ${ratio}x`, isKept: (own, peer) => peer !== undefined && own.p99Ms <= ratio * peer.p99Ms };
}
