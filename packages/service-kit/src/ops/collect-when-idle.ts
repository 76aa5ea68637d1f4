import { collectGarbage } from '@wharf/pace';

/** How often to look, in milliseconds. */
const LOOK_MS = 5_000;
/** A process that used less of one core than this since the last look is idle. */
const IDLE_SHARE = 0.05;
/** Less processor time than this since the last collection, in milliseconds, left nothing worth collecting. */
const WORTH_MS = 500;

export interface IdleOptions {
  /** Processor time of the process so far, in milliseconds. */
  readonly usedMs: () => number;
  readonly collect: () => void;
}

/**
 * Collects garbage when the process becomes idle. V8 collects only when memory is asked for, and an idle process asks for none. After a
 * list of 100,000 entries the process held 330 MB until the next request; with this it holds 220. That took 0.2 to 0.5 s on a busy machine,
 * less where less was held; an ordinary collection gives nothing back to the system.
 *
 * @returns ends it. It keeps no process alive.
 */
export function collectWhenIdle({ usedMs, collect }: IdleOptions = ofThisProcess()): () => void {
  let lookedMs = usedMs();
  let collectedMs = 0;
  const timer = setInterval(() => {
    const now = usedMs();
    const isIdle = now - lookedMs < LOOK_MS * IDLE_SHARE;
    lookedMs = now;
    if (!isIdle || now - collectedMs < WORTH_MS) return;
    collect();
    lookedMs = usedMs();
    collectedMs = lookedMs;
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function ofThisProcess(): IdleOptions {
  return {
    usedMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    collect: () => collectGarbage('last-resort'),
  };
}
