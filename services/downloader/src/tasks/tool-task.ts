import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { isMissing } from '@wharf/held-folders';
import { type ServiceKit, unseal } from '@wharf/service-kit';
import type { TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import type { DownloadInput } from '../domain/download-input.ts';
import type { FetchNetwork } from '../fetch/source.ts';
import { isPassing } from '../fetch/transfer.ts';
import type { SeedStore } from '../store/seed-store.ts';
import type { ExternalTool } from '../tools/external-tool.ts';
import { type ToolFolder, toolFolder } from '../tools/tool-folder.ts';
import type { ToolSight } from '../tools/tool-sight.ts';
import type { Tools } from '../tools/tools.ts';
import { vetSource } from '../tools/vet-source.ts';
import type { TransferInput } from './transfer-task.ts';

/** What a run of a tool's download leaves for the next one. */
export const savedTool = z.object({
  /** Empty: the tool does not have it yet. */
  toolId: z.string(),
  /** The tool has all of it. */
  isFinished: z.boolean(),
  /** The files were there, and their transfers are being queued: what is not there any more has been transferred. */
  isHandedOver: z.boolean(),
});
export type SavedTool = z.output<typeof savedTool>;

type ToolRun = Pick<TaskRun<DownloadInput, never, never>, 'id' | 'input' | 'creator' | 'signal' | 'progress' | 'assertLease' | 'logger'>;

export interface ToolTasks {
  /** Has the tool fetch, follows it, and queues the transfers of what it brought. */
  run(run: ToolRun, saved: SavedTool | undefined, save: (state: SavedTool) => Promise<void>): Promise<void>;
  /** Takes back what the runs left. */
  drop(run: ToolRun, saved: SavedTool | undefined): Promise<void>;
}

export interface ToolTaskOptions {
  readonly kit: { readonly keys: Pick<ServiceKit['keys'], 'atRest'>; readonly clock: () => number };
  readonly tools: Tools;
  readonly sight: ToolSight;
  readonly seeds: SeedStore;
  /** Tools and we see it under the same path. */
  readonly toolsDir: string;
  readonly openNetwork: () => FetchNetwork;
  /** Queues transfers; those that are queued already are left out. */
  readonly queueTransfers: (run: ToolRun, transfers: readonly TransferInput[]) => Promise<void>;
  readonly onBytes: (tool: string, bytes: number) => void;
}

const POLL_MS = 1_000;
/** A tool that does not answer so many times in a row is given up, as the family does. */
const MAX_FAILURES = 5;
const MINUTE_MS = 60_000;

export function createToolTasks(options: ToolTaskOptions): ToolTasks {
  const { kit, tools, sight, seeds, toolsDir } = options;

  const begin = async (run: ToolRun, tool: ExternalTool, folder: ToolFolder, note: (toolId: string) => Promise<void>): Promise<string> => {
    const network = options.openNetwork();
    try {
      const source = await vetSource({ policy: network.policy, network }, tool, unseal(kit.keys.atRest, run.input.url), run.signal);
      await folder.make();
      const id = tool.newId?.(source);
      if (id !== undefined) await note(id);
      const added = await tool.add(source, folder.path, run.signal, id);
      if (added !== id) await note(added);
      return added;
    } finally {
      network.client.close();
    }
  };

  /** Follows the download until the tool has all of it. @returns the id by which the tool knows it at the end */
  const follow = async (run: ToolRun, tool: ExternalTool, folder: ToolFolder, known: string, save: (toolId: string) => Promise<void>) => {
    let toolId = known;
    let isInherited = known !== '';
    let doneBytes: number | undefined;
    for (let failures = 0; ; ) {
      run.signal.throwIfAborted();
      try {
        if (toolId === '') {
          isInherited = false;
          toolId = await begin(run, tool, folder, async (id) => {
            toolId = id;
            await save(id);
          });
        }
        const status = await tool.find(toolId, run.signal);
        failures = 0;
        if (!status) {
          // The tool lost it: what it has written stays, and it goes on from there.
          toolId = '';
          continue;
        }
        if (status.followedBy !== undefined) {
          toolId = status.followedBy;
          await save(toolId);
          continue;
        }
        if (isInherited && status.state !== 'complete' && (tool.needsReplica || status.state === 'failed')) {
          await tool.remove(toolId);
          toolId = '';
          continue;
        }
        if (doneBytes !== undefined && status.doneBytes > doneBytes) options.onBytes(tool.name, status.doneBytes - doneBytes);
        doneBytes = status.doneBytes;
        run.progress({
          doneBytes,
          totalBytes: status.totalBytes,
          status: `[${tool.name}]: ${status.detail.slice(0, 200)}`,
          phase: 'fetching',
        });
        if (status.state === 'complete') return toolId;
        if (status.state === 'failed') throw new AppError('FAILED_PRECONDITION', `${tool.name}: ${status.error.slice(0, 300)}`);
        if (status.state === 'paused') await tool.resume(toolId);
      } catch (error) {
        if (run.signal.aborted) throw error;
        failures += 1;
        if (!isPassing(error) || failures > MAX_FAILURES) throw error;
      }
      await delay(POLL_MS, undefined, { signal: run.signal });
    }
  };

  const handOver = async (run: ToolRun, folder: ToolFolder, isAgain: boolean, save: () => Promise<void>): Promise<void> => {
    const results = await folder.list().catch((error) => {
      if (isAgain && isMissing(error)) return [];
      throw error;
    });
    if (results.length === 0 && isAgain) return;
    if (results.length === 0)
      throw new AppError('FAILED_PRECONDITION', `${run.input.tool} has finished, but its files are not in the folder that Wharf reads`);
    if (isAgain) await run.assertLease();
    else await save();
    const { directory, mountPath, innerPath, deletePolicy, tool } = run.input;
    await options.queueTransfers(
      run,
      results.map((name) => ({ parent: run.id, tool, name, directory, mountPath, innerPath, deletePolicy })),
    );
  };

  return {
    async run(run, saved, save) {
      const tool = await tools.get(run.input.tool);
      await sight.require(tool.name, run.signal);
      const folder = toolFolder(toolsDir, tool.name, run.id);
      let toolId = saved?.toolId ?? '';
      if (!saved?.isFinished) {
        try {
          toolId = await follow(run, tool, folder, toolId, async (next) => {
            toolId = next;
            await save({ toolId, isFinished: false, isHandedOver: false });
          });
        } catch (error) {
          if (isPause(run.signal) && toolId !== '') await tool.pause(toolId);
          throw error;
        }
        await save({ toolId, isFinished: true, isHandedOver: false });
      }
      // From here on everything may happen twice.
      const minutes = await tools.seedMinutes(tool.name);
      if (minutes === 0) await tool.remove(toolId);
      else
        await seeds.add({
          taskId: run.id,
          tool: tool.name,
          toolId,
          removeAt: minutes < 0 ? undefined : new Date(kit.clock() + minutes * MINUTE_MS),
        });
      await handOver(run, folder, saved?.isHandedOver === true, () => save({ toolId, isFinished: true, isHandedOver: true }));
      run.progress({ status: 'offline download completed, maybe transferring', phase: '' });
    },
    async drop(run, saved) {
      const tool = await tools.get(run.input.tool);
      if (saved && saved.toolId !== '') await tool.remove(saved.toolId);
      await toolFolder(toolsDir, tool.name, run.id).remove();
    },
  };
}

function isPause(signal: AbortSignal): boolean {
  return signal.aborted && AppError.is(signal.reason) && signal.reason.details.reason === 'paused';
}
