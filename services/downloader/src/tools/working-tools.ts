import type { AppError } from '@wharf/errors';
import { isYounger, unlessAborted } from '@wharf/pace';
import type { Logger } from '@wharf/service-kit';
import { postponed } from '@wharf/task-engine';
import { isWrongSetup } from './probe-folder.ts';
import type { ToolSettings } from './probe-tool.ts';

/** The tools that work with this replica: the replica can read what they write, and tools that need its proxy can reach it. */
export interface WorkingTools {
  /**
   * Probes the tool, unless it was probed lately with these settings. A tool that cannot be asked counts as working.
   * @throws what {@link postponed} makes: another replica may see what this one does not
   */
  require(tool: string, signal: AbortSignal): Promise<void>;
  /** Tools that lately did not work with this replica. */
  notWorking(): string[];
}

/** The result of a probe holds for so long, in milliseconds. */
const WORKING_MS = 600_000;
/** How long a tool that does not work here, and a result that cannot be read here, are left to other replicas, in milliseconds. */
export const AVOIDED_MS = 30_000;
/** A probe takes no longer than this, in milliseconds. */
const LOOK_LIMIT_MS = 20_000;
/** Long enough for this replica to leave the task to others. */
export const HAND_OVER_MS = 1_000;

interface Look {
  readonly key: string;
  readonly at: number;
  /** Undefined: nothing is wrong. */
  readonly error: Promise<AppError | undefined>;
}

export function createWorkingTools(options: {
  readonly settingsOf: (tool: string) => Promise<ToolSettings>;
  /** @throws AppError as probeTool() */
  readonly probe: (settings: ToolSettings, signal: AbortSignal) => Promise<unknown>;
  readonly clock: () => number;
  readonly logger: Logger;
}): WorkingTools {
  const { settingsOf, probe, clock, logger } = options;
  const looks = new Map<string, Look>();
  /** By tool: when it was found not to work. */
  const failedAt = new Map<string, number>();

  const look = async (settings: ToolSettings): Promise<AppError | undefined> => {
    const { tool } = settings;
    try {
      // The caller's signal is not passed on: other callers wait for the same answer.
      await probe(settings, AbortSignal.timeout(LOOK_LIMIT_MS));
      failedAt.delete(tool);
      return undefined;
    } catch (error) {
      if (!isWrongSetup(error)) {
        looks.delete(tool);
        return undefined;
      }
      logger.warn({ err: error, tool }, 'a download tool and this downloader do not work together');
      failedAt.set(tool, clock());
      return error;
    }
  };

  return {
    async require(tool, signal) {
      const settings = await settingsOf(tool);
      const key = JSON.stringify(settings);
      let last = looks.get(tool);
      const maxAgeMs = failedAt.has(tool) ? AVOIDED_MS : WORKING_MS;
      if (!last || last.key !== key || !isYounger(last.at, clock(), maxAgeMs)) {
        last = { key, at: clock(), error: look(settings) };
        looks.set(tool, last);
      }
      const error = await unlessAborted(signal, last.error);
      if (error) throw postponed(`waits for a downloader that works with ${tool}`, HAND_OVER_MS);
    },
    notWorking: () => [...failedAt].filter(([, at]) => isYounger(at, clock(), AVOIDED_MS)).map(([tool]) => tool),
  };
}
