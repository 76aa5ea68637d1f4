import { AppError } from '@wharf/errors';
import { isYounger } from '@wharf/pace';
import { postponed } from '@wharf/task-engine';
import type { ToolFolder, ToolResult } from '../tools/tool-folder.ts';
import { AVOIDED_MS, HAND_OVER_MS } from '../tools/working-tools.ts';
import { BEGINNING, type TransferRun } from './transfer-run.ts';

/**
 * A result that no downloader could read for so long, in milliseconds, is given up. The only replica that can read it may be away for a
 * while.
 */
const MISSING_LIMIT_MS = 3_600_000;

/** Results of tools as this replica can read them; another one may read what this one does not. */
export interface ReadableResults {
  /** The tool need not be there any more. @throws what {@link postponed} makes: another replica may read what this one does not */
  require(run: TransferRun): Promise<ToolResult>;
  /** Downloads with results that this replica lately could not read. */
  unreadable(): string[];
}

export function createReadableResults(folderOf: (input: TransferRun['input']) => ToolFolder, clock: () => number): ReadableResults {
  /** By download: when that was found. */
  const unreadable = new Map<string, number>();
  return {
    async require(run) {
      const { input } = run;
      const { missingSince, ...done } = run.checkpoint ?? BEGINNING;
      const found = await folderOf(input)
        .walk(input.name)
        .catch((error: unknown) => {
          if (AppError.is(error)) throw error;
          run.logger.warn({ err: error, tool: input.tool }, 'what a download tool made cannot be read here');
        });
      const now = clock();
      if (found) {
        unreadable.delete(input.parent);
        if (missingSince !== undefined) await run.saveCheckpoint(done);
        return found;
      }
      unreadable.set(input.parent, now);
      if (missingSince !== undefined && now - missingSince >= MISSING_LIMIT_MS) {
        // A retry of the task waits anew.
        await run.saveCheckpoint(done);
        throw new AppError('FAILED_PRECONDITION', `no downloader could read what ${input.tool} made`);
      }
      await run.saveCheckpoint({ ...done, missingSince: missingSince ?? now });
      throw postponed(`waits for a downloader that can read what ${input.tool} made`, HAND_OVER_MS);
    },
    unreadable() {
      const now = clock();
      for (const [parent, at] of unreadable) if (!isYounger(at, now, AVOIDED_MS)) unreadable.delete(parent);
      return [...unreadable.keys()];
    },
  };
}
