import { ApiError } from '../api/call.ts';
import { TOO_LARGE } from './send-bytes.ts';

const MAX_BYTES = 8 * 1024 * 1024;
/** What the server takes as the smallest part, and the limit of many a proxy. */
const MIN_BYTES = 1024 * 1024;
/** After so many bodies in a row that were cut off by a way that answers everything else, they are made smaller. */
const CUTS_THAT_TELL = 3;

/** How big the parts are that the way to the server lets through: it is found out, and holds for all files. */
export interface PartSize {
  readonly bytes: () => number;
  /** Whether a body was too large for the way, as far as this can be told; then the next are smaller. */
  shrinkAfter(error: unknown): Promise<boolean>;
  /** A body was let through: those that were cut off before it were so for another reason. */
  passed(): void;
}

export function createPartSize(isThere: () => Promise<boolean> = isServerThere): PartSize {
  let bytes = MAX_BYTES;
  let cuts = 0;
  return {
    bytes: () => bytes,
    passed() {
      cuts = 0;
    },
    async shrinkAfter(error) {
      if (!(error instanceof ApiError) || bytes === MIN_BYTES) return false;
      cuts = error.code === 0 && (await isThere()) ? cuts + 1 : 0;
      if (error.code !== TOO_LARGE && cuts < CUTS_THAT_TELL) return false;
      cuts = 0;
      bytes = Math.max(MIN_BYTES, bytes / 2);
      return true;
    },
  };
}

async function isServerThere(): Promise<boolean> {
  try {
    return (await fetch('/ping', { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}
