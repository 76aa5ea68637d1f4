import { repeatable } from '../search/repeatable.ts';

/** Removes now and then what nobody waits for. */
export interface Sweeping {
  /** The first one is at once: what ran out while nobody was here goes now. */
  start(): void;
  stop(): void;
}

/** One that takes longer than the pause, as a storage does not answer, has no other one beside it: the next one comes when it has ended. */
export function createSweeping(sweep: () => Promise<void>, pauseMs: number, onError: (error: unknown) => void): Sweeping {
  const { run } = repeatable(sweep, onError);
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      run();
      timer = setInterval(run, pauseMs).unref();
    },
    stop() {
      clearInterval(timer);
    },
  };
}
