import type { Logger } from '@wharf/service-kit';
import type { SeedStore } from '../store/seed-store.ts';
import { toolFolder } from './tool-folder.ts';
import type { Tools } from './tools.ts';

/** Takes torrents out of their tools when they have seeded long enough. No worker waits for that. */
export interface SeedKeeper {
  start(): void;
  stop(): Promise<void>;
}

const LOOK_MS = 5_000;
/** A tool that does not answer, or whose keeper has died, is asked again after this, in milliseconds. */
const RETRY_MS = 60_000;

export function createSeedKeeper(options: {
  readonly seeds: SeedStore;
  readonly tools: Tools;
  readonly toolsDir: string;
  readonly clock: () => number;
  readonly logger: Logger;
}): SeedKeeper {
  const { seeds, tools, toolsDir, clock, logger } = options;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();

  const look = async (): Promise<void> => {
    const takeDue = () => seeds.takeDue(new Date(clock()), new Date(clock() + RETRY_MS));
    for (let seed = await takeDue(); seed; seed = await takeDue()) {
      try {
        await (await tools.get(seed.tool)).remove(seed.tool_id);
        for (const name of seed.left_files) await toolFolder(toolsDir, seed.tool, seed._id).removeResult(name);
        await seeds.end(seed);
      } catch (error) {
        logger.warn({ err: error, tool: seed.tool }, 'a torrent could not be taken out of its tool');
      }
    }
  };
  return {
    start() {
      timer = setInterval(() => {
        looking = looking.then(look).catch((error) => logger.warn({ err: error }, 'seeding torrents could not be looked after'));
      }, LOOK_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
