import { AppError } from '@wharf/errors';
import type { SeedRecord } from '@wharf/models';
import { unlessAborted } from '@wharf/pace';
import type { Logger } from '@wharf/service-kit';
import type { SeedStore } from '../store/seed-store.ts';
import { takeOut } from './external-tool.ts';
import { foldersOf, type ToolFolder } from './tool-folder.ts';
import { TOOL_NAMES, type Tools } from './tools.ts';

/**
 * Takes torrents out of their tools when they have seeded long enough, and downloads that ended while their tool was away. No worker waits for that, nor does
 * one tool for another, which may answer slowly.
 */
export interface SeedKeeper {
  start(): void;
  stop(): Promise<void>;
}

const LOOK_MS = 5_000;
/** A tool that does not answer, or whose keeper has died, is asked again after this, in milliseconds. */
const RETRY_MS = 60_000;
/** One that is configured no more, after this: it may be again. */
const FORGOTTEN_MS = 3_600_000;

export function createSeedKeeper(options: {
  readonly seeds: SeedStore;
  readonly tools: Tools;
  readonly toolsDir: string;
  readonly clock: () => number;
  readonly logger: Logger;
}): SeedKeeper {
  const { seeds, tools, toolsDir, clock, logger } = options;
  let timer: NodeJS.Timeout | undefined;
  /** By tool. */
  const looking = new Map<string, Promise<void>>();
  const stopped = new AbortController();
  const missing = new Set<string>();

  /** Undefined: its address is no more in the settings. It is warned of once for all that it seeds, until it is found again. */
  const findTool = async (name: string) => {
    try {
      const tool = await tools.get(name);
      missing.delete(name);
      return tool;
    } catch (error) {
      if (!AppError.is(error, 'INVALID_ARGUMENT') && !AppError.is(error, 'RECORD_NOT_FOUND')) throw error;
      if (!missing.has(name)) logger.warn({ err: error, tool: name }, 'a tool that still seeds torrents is configured no more');
      missing.add(name);
      return undefined;
    }
  };
  const look = async (name: string): Promise<void> => {
    // Those of a tool that is away may be due again before all others were: such a look has no end of its own.
    let again = new Date(0);
    const takeDue = async () => {
      again = new Date(clock() + RETRY_MS);
      return stopped.signal.aborted ? undefined : seeds.takeDue(name, new Date(clock()), again);
    };
    for (let seed = await takeDue(); seed; seed = await takeDue()) {
      try {
        const tool = await findTool(seed.tool);
        if (!tool) {
          await seeds.postpone(seed._id, again, new Date(clock() + FORGOTTEN_MS));
          continue;
        }
        const { folder, all } = foldersOf(seed.tools_dir, toolsDir, seed.tool, seed._id);
        // It is due again where this process ends meanwhile.
        const untilStopped = (answer: Promise<unknown>) => unlessAborted(stopped.signal, answer);
        if (seed.is_given_up) {
          // While the tool is away whoever tries it again has all of it back.
          await untilStopped(tool.version(stopped.signal));
          await endGivenUp(seeds, seed, all, () => untilStopped(takeOut(tool, seed.tool_id, folder.path, stopped.signal)));
          continue;
        }
        await untilStopped(tool.remove(seed.tool_id, folder.path, stopped.signal));
        if (!(await seeds.isAsTaken(seed))) continue;
        for (const each of all) for (const name of seed.left_files) await each.removeResult(name);
        await seeds.end(seed);
      } catch (error) {
        logger.warn({ err: error, tool: seed.tool }, 'a torrent could not be taken out of its tool');
      }
    }
  };
  return {
    start() {
      timer = setInterval(() => {
        for (const name of TOOL_NAMES.filter((each) => !looking.has(each))) {
          const looked = look(name)
            .catch((error) => logger.warn({ err: error, tool: name }, 'seeding torrents could not be looked after'))
            .finally(() => looking.delete(name));
          looking.set(name, looked);
        }
      }, LOOK_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      stopped.abort();
      await Promise.all(looking.values());
    },
  };
}

/** Removes what is left of a download. Whoever has tried it again has what is in its tool and its folder, or waits until that is gone. */
async function endGivenUp(
  seeds: SeedStore,
  seed: SeedRecord,
  folders: readonly ToolFolder[],
  takeOutOfTool: () => Promise<unknown>,
): Promise<void> {
  if (!(await seeds.beginRemoval(seed))) return;
  await takeOutOfTool();
  try {
    for (const folder of folders) await folder.remove();
  } finally {
    await seeds.end(seed);
  }
}
