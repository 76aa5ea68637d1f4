import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { MAX_SEED_MINUTES } from '@wharf/models';
import type { ServiceKit } from '@wharf/service-kit';
import { postponed, type TaskCreator, type TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import type { DownloadInput } from '../domain/download-input.ts';
import type { SeedStore } from '../store/seed-store.ts';
import { type ExternalTool, takeOut } from '../tools/external-tool.ts';
import { foldersOf, isSameFolder, resultsIn, type ToolFolder, toolFolder } from '../tools/tool-folder.ts';
import type { Tools } from '../tools/tools.ts';
import type { WorkingTools } from '../tools/working-tools.ts';
import { type FollowContext, followTool, notInFolder } from './follow-tool.ts';
import type { TransferInput } from './transfer-run.ts';

/** The checkpoint of a tool's download. */
export const savedTool = z.object({
  /** Empty: the tool was about to be given it, and may have it under an id of its own. */
  toolId: z.string(),
  /** The tool has all of it. */
  isFinished: z.boolean(),
  /** The transfers of the files are being queued. From now on a file that is missing has been transferred. */
  isHandedOver: z.boolean(),
  /** Tells its transfers from those of a time before, when it succeeded and was then begun anew. Left out by earlier versions. */
  round: z.string().optional(),
  /** The root of the tools' folders when its tool got it. Left out by earlier versions. */
  toolsDir: z.string().optional(),
});
export type SavedTool = z.output<typeof savedTool>;

type ToolRun = Pick<TaskRun<DownloadInput, never, never>, 'id' | 'input' | 'creator' | 'signal' | 'progress' | 'assertLease' | 'logger'>;

export interface ToolTasks {
  /** Has the tool fetch, follows it, and queues the transfers of what it brought. */
  run(run: ToolRun, saved: SavedTool | undefined, save: (state: SavedTool) => Promise<void>): Promise<void>;
  /** Takes back what the runs left. @param forget has the next run, if there is one, begin anew */
  drop(run: ToolRun, saved: SavedTool | undefined, forget: () => Promise<void>): Promise<void>;
}

export interface ToolTaskOptions extends FollowContext {
  readonly kit: FollowContext['kit'] & Pick<ServiceKit, 'clock'>;
  readonly tools: Tools;
  readonly working: WorkingTools;
  readonly seeds: SeedStore;
  /** The tools and this process see it under the same path. */
  readonly toolsDir: string;
  /** Queues transfers; those that are queued already are left out. */
  readonly queueTransfers: (parent: TransferParent, transfers: readonly TransferInput[]) => Promise<void>;
  /** @throws AppError that has the task wait: transfers of the time before, when it succeeded, have not ended */
  readonly requireTransferred: (id: string) => Promise<void>;
  /** END_MS unless told. @internal given by tests only */
  readonly endMs?: number;
}

/** The download whose results are transferred, and which time it is that it was begun. */
export interface TransferParent {
  readonly id: string;
  readonly creator: TaskCreator | undefined;
  readonly round?: string | undefined;
}

const MINUTE_MS = 60_000;
/** While what an earlier attempt left is removed, a download waits for so long at a time, in milliseconds. */
const REMOVAL_MS = 2_000;
/** A download whose tool does not let us in any more waits for so long at a time, in milliseconds. */
const LOGIN_MS = 30_000;
/** A tool is told for so long that a download ends or pauses, in milliseconds: one of a metalink has hundreds of parts, and others wait for the place. */
const END_MS = 20_000;

export function createToolTasks(options: ToolTaskOptions): ToolTasks {
  const { kit, tools, working, seeds, toolsDir, endMs = END_MS } = options;

  const handOver = async (
    run: ToolRun,
    folders: readonly ToolFolder[],
    { isHandedOver: isAgain, round }: Pick<SavedTool, 'isHandedOver' | 'round'>,
    save: () => Promise<void>,
  ): Promise<void> => {
    const results = (await Promise.all(folders.map(resultsIn))).flat();
    if (results.length === 0 && isAgain) return;
    if (results.length === 0) throw notInFolder(run.input.tool);
    if (isAgain) await run.assertLease();
    else await save();
    const { directory, mountPath, innerPath, deletePolicy, tool } = run.input;
    await options.queueTransfers(
      { id: run.id, creator: run.creator, round },
      results.map((name) => ({ parent: run.id, tool, name, directory, mountPath, innerPath, deletePolicy })),
    );
  };

  /** Takes it out of the tool, or notes when that is to be. */
  const release = async (run: ToolRun, tool: ExternalTool, toolId: string, folder: ToolFolder): Promise<void> => {
    const minutes = await tools.seedMinutes(tool.name);
    if (minutes === 0) {
      try {
        return await tool.remove(toolId, folder.path, run.signal);
      } catch (error) {
        run.signal.throwIfAborted();
        // What it brought is there: it is not given up for that.
        run.logger.warn({ err: error, tool: tool.name }, 'a download that is complete is taken out of its tool later');
      }
    }
    const removeAt = minutes < 0 ? undefined : new Date(kit.clock() + Math.min(minutes, MAX_SEED_MINUTES) * MINUTE_MS);
    await seeds.add({ taskId: run.id, tool: tool.name, toolId, toolsDir, removeAt });
  };

  return {
    async run(run, before, saveState) {
      const round = before ? before.round : randomBytes(8).toString('hex');
      const save = (state: Omit<SavedTool, 'round' | 'toolsDir'>) => saveState({ ...state, round, toolsDir });
      if (!before) await options.requireTransferred(run.id);
      const tool = await tools.get(run.input.tool);
      await working.require(tool.name, run.signal);
      const folder = toolFolder(toolsDir, tool.name, run.id);
      const saved = await withinRoot(toolsDir, run, tool, before);
      let toolId = saved?.toolId ?? '';
      if (saved && !saved.isHandedOver && !(await seeds.takeBack(run.id)))
        throw postponed('waits until what was left of it is removed', REMOVAL_MS);
      if (!saved?.isFinished) {
        try {
          toolId = await followTool(options, run, tool, folder, toolId, async (next) => {
            toolId = next;
            await save({ toolId, isFinished: false, isHandedOver: false });
          });
        } catch (error) {
          if (isPause(run.signal) && toolId !== '') await tool.pause(toolId, AbortSignal.timeout(endMs));
          throw toolId === '' ? error : unlessLetIn(error, tool.name);
        }
        await save({ toolId, isFinished: true, isHandedOver: false });
      }
      // From here on everything may happen twice, but what was handed over is no longer asked for: it may be somebody else's by now.
      if (!saved?.isHandedOver) await release(run, tool, toolId, folder);
      const isHandedOver = saved?.isHandedOver === true;
      const { all } = foldersOf(saved?.toolsDir, toolsDir, tool.name, run.id);
      await handOver(run, all, { isHandedOver, round }, () => save({ toolId, isFinished: true, isHandedOver: true }));
      run.progress({ status: 'offline download completed, maybe transferring', phase: '' });
    },
    async drop(run, saved, forget) {
      const { tool } = run.input;
      const { folder, all } = foldersOf(saved?.toolsDir, toolsDir, tool, run.id);
      // Nothing was begun. What is there may be of transfers of the time before, for which this one waited.
      if (!saved) return folder.removeEmpty();
      if (saved.isHandedOver) await seeds.endNow(run.id, new Date(kit.clock()));
      else {
        // Else another attempt may have it by now.
        await run.assertLease();
        try {
          const signal = AbortSignal.any([run.signal, AbortSignal.timeout(endMs)]);
          await takeOut(await tools.get(tool), saved.toolId, folder.path, signal);
        } catch (error) {
          // Another worker puts it away, or somebody has tried it again.
          run.signal.throwIfAborted();
          run.logger.warn({ err: error, tool }, 'a download that has ended is taken out of its tool when that answers');
          const { toolId } = saved;
          return seeds.giveUp({
            ...{ taskId: run.id, tool, toolId, toolsDir: saved.toolsDir ?? toolsDir },
            removeAt: new Date(kit.clock()),
          });
        }
      }
      // Its tool may have taken its time.
      await run.assertLease();
      for (const each of all) await each.remove();
      // Tried again it would look for what has gone, or take it for what was transferred.
      if (saved.isFinished) await forget();
    },
  };
}

/** What the tool got for a folder in another root than ours by now goes: the download begins anew. @returns what there is to go on from */
async function withinRoot(
  toolsDir: string,
  run: ToolRun,
  tool: ExternalTool,
  saved: SavedTool | undefined,
): Promise<SavedTool | undefined> {
  if (!saved || saved.isHandedOver || isSameFolder(saved.toolsDir ?? toolsDir, toolsDir)) return saved;
  const { folder } = foldersOf(saved.toolsDir, toolsDir, tool.name, run.id);
  run.logger.warn({ tool: tool.name }, 'a download begins anew: WHARF_TOOLS_DIR is another one');
  await takeOut(tool, saved.toolId, folder.path, run.signal);
  await folder.remove();
  return { toolId: '', isFinished: false, isHandedOver: false, round: saved.round };
}

/** What a tool has fetched is not thrown away because its password is changed there first, and then here. @returns that the download waits, or the error */
function unlessLetIn(error: unknown, tool: string): unknown {
  return AppError.is(error, 'STORAGE_LOGIN_FAILED') ? postponed(`${tool} refuses: ${error.message}`, LOGIN_MS) : error;
}

function isPause(signal: AbortSignal): boolean {
  return signal.aborted && AppError.is(signal.reason) && signal.reason.details.reason === 'paused';
}
