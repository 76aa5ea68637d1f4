import type { Logger } from '@wharf/service-kit';
import type { SeedStore } from '../store/seed-store.ts';
import { takeOut } from './external-tool.ts';
import { toolFolder } from './tool-folder.ts';
import type { Tools } from './tools.ts';

/** Takes torrents out of their tools when they have seeded long enough, and downloads that ended while their tool was away. No worker waits for that. */
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
  let looking: Promise<void> | undefined;
  let isStopped = false;

  const look = async (): Promise<void> => {
    // Those of a tool that is away may be due again before all others were: such a look has no end of its own.
    const takeDue = async () => (isStopped ? undefined : seeds.takeDue(new Date(clock()), new Date(clock() + RETRY_MS)));
    for (let seed = await takeDue(); seed; seed = await takeDue()) {
      try {
        const folder = toolFolder(toolsDir, seed.tool, seed._id);
        await takeOut(await tools.get(seed.tool), seed.tool_id, folder.path);
        for (const name of seed.left_files) await folder.removeResult(name);
        // Whoever tries the download again meanwhile has its folder.
        if ((await seeds.end(seed)) && seed.is_given_up) await folder.remove();
      } catch (error) {
        logger.warn({ err: error, tool: seed.tool }, 'a torrent could not be taken out of its tool');
      }
    }
  };
  return {
    start() {
      timer = setInterval(() => {
        looking ??= look()
          .catch((error) => logger.warn({ err: error }, 'seeding torrents could not be looked after'))
          .finally(() => {
            looking = undefined;
          });
      }, LOOK_MS);
      timer.unref();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}
