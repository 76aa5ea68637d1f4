import { AppError } from '@wharf/errors';

/** Every address of a name. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/**
 * Names that are looked up at a time for those who may name any. The system looks eight up at a time where the process has its 16 threads (libuv: half of
 * them), in the order in which they are asked for, and one whose server is silent takes ten seconds and more: the rest is for names from the admin.
 */
const PLACES = 4;
/** Of one owner: who gives a request up leaves its name in the queue, as a look-up cannot be taken back. */
const MAX_WAITING = 256;

interface Lane {
  running: number;
  /** In the order in which they came. */
  readonly waiting: (() => void)[];
}

/**
 * Shares the places for look-ups between owners, who have them in turns: one has all of them but one, so that whoever comes next need not wait for names whose
 * servers are silent.
 *
 * @returns the look-up, which throws AppError OVERLOADED where too many names of this owner wait, and what `lookUp` throws
 */
export function createFairLookups(lookUp: LookUp, places = PLACES): (owner: string, host: string) => Promise<readonly string[]> {
  /** Whose turn is next comes first. */
  const lanes = new Map<string, Lane>();
  let running = 0;
  const fill = () => {
    for (const [owner, lane] of lanes) {
      if (running === places) return;
      const begin = lane.running < Math.max(1, places - 1) ? lane.waiting.shift() : undefined;
      if (!begin) continue;
      lanes.delete(owner);
      lanes.set(owner, lane);
      lane.running += 1;
      running += 1;
      begin();
    }
  };
  return async (owner, host) => {
    const lane = lanes.get(owner) ?? { running: 0, waiting: [] };
    if (lane.waiting.length >= MAX_WAITING) throw new AppError('OVERLOADED', 'too many names are being looked up, try again in a moment');
    lanes.set(owner, lane);
    await new Promise<void>((resolve) => {
      lane.waiting.push(resolve);
      fill();
    });
    try {
      return await lookUp(host);
    } finally {
      lane.running -= 1;
      running -= 1;
      if (lane.running === 0 && lane.waiting.length === 0) lanes.delete(owner);
      fill();
    }
  };
}
