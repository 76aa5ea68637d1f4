import { outsideCalls } from '@wharf/pace';

/** Runs an action in the background, as no part of the call that asked for it, one run at a time; asked for during a run it runs once more. */
export function repeatable(action: () => Promise<void>, onError: (error: unknown) => void): { run(): void; idle(): Promise<void> } {
  let running: Promise<void> | undefined;
  let again = false;
  const loop = async () => {
    do {
      again = false;
      await action().catch(onError);
    } while (again);
    running = undefined;
  };
  return {
    run() {
      if (running) again = true;
      else running = outsideCalls(loop);
    },
    idle: async () => running,
  };
}
