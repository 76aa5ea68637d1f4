import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { type ServiceKit, unseal } from '@wharf/service-kit';
import type { TaskRun } from '@wharf/task-engine';
import type { DownloadInput } from '../domain/download-input.ts';
import type { FetchNetwork } from '../fetch/source.ts';
import { isPassing } from '../fetch/transfer.ts';
import type { ExternalTool } from '../tools/external-tool.ts';
import type { ToolFolder } from '../tools/tool-folder.ts';
import { vetSource } from '../tools/vet-source.ts';

const POLL_MS = 1_000;
/** A tool that does not answer so many times in a row is given up, as the family does. */
const MAX_FAILURES = 5;

export interface FollowContext {
  readonly kit: { readonly keys: Pick<ServiceKit['keys'], 'atRest'> };
  readonly openNetwork: () => FetchNetwork;
  readonly onBytes: (tool: string, bytes: number) => void;
}

type FollowedRun = Pick<TaskRun<DownloadInput, never, never>, 'input' | 'signal' | 'progress'>;

/** Follows the download until the tool has all of it. @returns the id by which the tool knows it at the end */
export async function followTool(
  context: FollowContext,
  run: FollowedRun,
  tool: ExternalTool,
  folder: ToolFolder,
  known: string,
  save: (toolId: string) => Promise<void>,
): Promise<string> {
  let toolId = known;
  let isInherited = known !== '';
  let doneBytes: number | undefined;
  for (let failures = 0; ; ) {
    run.signal.throwIfAborted();
    try {
      if (toolId === '') {
        isInherited = false;
        toolId = await begin(context, run, tool, folder, async (id) => {
          toolId = id;
          await save(id);
        });
      }
      const status = await tool.find(toolId, run.signal);
      failures = 0;
      if (!status) {
        // The tool has forgotten the download. What it has written stays, and the download goes on from there.
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
      if (doneBytes !== undefined && status.doneBytes > doneBytes) context.onBytes(tool.name, status.doneBytes - doneBytes);
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
}

/** Begins the download in the tool. @param note receives the tool's id of the download, before the tool begins where that is possible */
async function begin(
  context: FollowContext,
  run: FollowedRun,
  tool: ExternalTool,
  folder: ToolFolder,
  note: (toolId: string) => Promise<void>,
): Promise<string> {
  const network = context.openNetwork();
  try {
    const source = await vetSource({ policy: network.policy, network }, tool, unseal(context.kit.keys.atRest, run.input.url), run.signal);
    await folder.make();
    const id = tool.newId?.(source);
    if (id !== undefined) await note(id);
    const added = await tool.add(source, folder.path, run.signal, id);
    if (added !== id) await note(added);
    return added;
  } finally {
    network.client.close();
  }
}
