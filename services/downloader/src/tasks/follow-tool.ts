import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { createFairPlaces, ownText, unlessAborted } from '@wharf/pace';
import { type ServiceKit, unseal } from '@wharf/service-kit';
import type { TaskRun } from '@wharf/task-engine';
import type { DownloadInput } from '../domain/download-input.ts';
import type { KeepReserve } from '../fetch/disk-reserve.ts';
import type { FetchNetwork } from '../fetch/source.ts';
import { isPassing } from '../fetch/transfer.ts';
import { type ExternalTool, takeOut } from '../tools/external-tool.ts';
import { resultsIn, type ToolFolder } from '../tools/tool-folder.ts';
import { isOfDescription, vetSource } from '../tools/vet-source.ts';

const POLL_MS = 1_000;
/** A torrent follows its magnet link, or a file its metadata: a tool that names more successors leads in a circle. */
const MAX_SUCCESSORS = 10;
/** Downloads that a tool has lost, or that were begun anew, before it is given up. */
const MAX_LOSSES = 5;
/** A tool that does not answer so many times in a row is given up, as the family does. */
const MAX_FAILURES = 5;
/** A download that its tool shows as paused so many times in a row, and that it was told to resume each time, is given up. */
const MAX_PAUSED = 60;
/** A tool that says that it has finished is looked at so many times until its files are there: it may move them from where it keeps what is not complete. */
const MAX_ABSENT = 60;

/**
 * Torrent files and metalinks that this process has in memory at a time: one of 10 MiB takes another 28 of the heap when it is handed over. A user has all
 * places but one.
 */
const inTurn = createFairPlaces(3);

export interface FollowContext {
  readonly kit: { readonly keys: Pick<ServiceKit['keys'], 'atRest'> };
  readonly openNetwork: (userId: number | undefined) => FetchNetwork;
  readonly onBytes: (tool: string, bytes: number) => void;
  readonly keepReserve: KeepReserve;
  /** Between two questions to the tool. @internal given by tests only */
  readonly pause?: typeof delay;
}

type FollowedRun = Pick<TaskRun<DownloadInput, never, never>, 'input' | 'creator' | 'signal' | 'progress' | 'assertLease'>;

/** Follows the download until the tool has all of it, and its files are in their folder. @returns the id by which the tool knows it at the end */
export async function followTool(
  context: FollowContext,
  run: FollowedRun,
  tool: ExternalTool,
  folder: ToolFolder,
  known: string,
  save: (toolId: string) => Promise<void>,
): Promise<string> {
  const { pause = delay } = context;
  let toolId = known;
  let isInherited = known !== '';
  let doneBytes: number | undefined;
  const successors = countTo(MAX_SUCCESSORS, `${tool.name} hands the download on and on`);
  const losses = countTo(MAX_LOSSES, `${tool.name} loses the download again and again`);
  let pausedLooks = 0;
  let absentLooks = 0;
  for (let failures = 0; ; await pause(POLL_MS, undefined, { signal: run.signal })) {
    run.signal.throwIfAborted();
    try {
      if (toolId === '') {
        isInherited = false;
        toolId = await begin(context, run, tool, folder, async (id) => {
          toolId = id;
          await save(id);
        });
      }
      const status = await tool.find(toolId, folder.path, run.signal);
      if (!status) {
        // The tool has forgotten the download. What it has written stays, and the download goes on from there.
        toolId = '';
        losses();
        continue;
      }
      if (status.followedBy !== undefined) {
        successors();
        toolId = status.followedBy;
        await save(toolId);
        continue;
      }
      if (isInherited && status.state !== 'complete' && (tool.needsReplica || status.state === 'failed')) {
        await tool.remove(toolId, folder.path, run.signal);
        toolId = '';
        losses();
        continue;
      }
      if (Number.isSafeInteger(status.doneBytes) && status.doneBytes >= 0) {
        if (doneBytes !== undefined && status.doneBytes > doneBytes) context.onBytes(tool.name, status.doneBytes - doneBytes);
        doneBytes = status.doneBytes;
      }
      run.progress({
        doneBytes: status.doneBytes,
        totalBytes: status.totalBytes,
        // It is kept for as long as the download goes on: what it is a part of may have megabytes.
        status: ownText(`[${tool.name}]: ${status.detail.slice(0, 200)}`),
        phase: 'fetching',
      });
      if (status.state === 'complete') {
        if ((await resultsIn(folder)).length > 0) return toolId;
        absentLooks += 1;
        if (absentLooks > MAX_ABSENT) throw notInFolder(tool.name);
      }
      if (status.state === 'failed') throw new AppError('FAILED_PRECONDITION', `${tool.name}: ${status.error.slice(0, 300)}`);
      const giveUp = async () => {
        // Another attempt may have it by now, and once more when the tool has taken its time.
        await run.assertLease();
        await takeOut(tool, toolId, folder.path, run.signal);
        await run.assertLease();
        await folder.remove();
      };
      await unlessAborted(run.signal, context.keepReserve(giveUp));
      pausedLooks = status.state === 'paused' ? pausedLooks + 1 : 0;
      if (pausedLooks > MAX_PAUSED) throw new AppError('FAILED_PRECONDITION', `${tool.name} does not go on with the download`);
      if (status.state === 'paused') await tool.resume(toolId, run.signal);
      // A tool that fails at one of its calls alone is not followed for ever.
      failures = 0;
    } catch (error) {
      if (run.signal.aborted) throw error;
      failures += 1;
      if (!isPassing(error) || failures > MAX_FAILURES) throw error;
    }
  }
}

export function notInFolder(tool: string): AppError {
  return new AppError('FAILED_PRECONDITION', `${tool} has finished, but its files are not in the folder that Wharf reads`);
}

/** @returns counts one more. @throws AppError FAILED_PRECONDITION with this text beyond so many */
function countTo(most: number, text: string): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > most) throw new AppError('FAILED_PRECONDITION', text);
  };
}

/**
 * Begins the download in the tool.
 *
 * @param note receives the tool's id of the download, before the tool begins where that is possible, and else then that it may begin: an empty one
 */
async function begin(
  context: FollowContext,
  run: FollowedRun,
  tool: ExternalTool,
  folder: ToolFolder,
  note: (toolId: string) => Promise<void>,
): Promise<string> {
  const network = context.openNetwork(run.creator?.id);
  const url = unseal(context.kit.keys.atRest, run.input.url);
  const handOver = async () => {
    const source = await vetSource({ policy: network.policy, network }, tool, url, run.signal);
    await folder.make();
    await tool.requireNew?.(source, folder.path, run.signal);
    const id = tool.newId?.(source);
    await note(id ?? '');
    const added = await tool.add(source, folder.path, run.signal, id);
    if (added !== id) await note(added);
    return added;
  };
  try {
    return await (isOfDescription(tool, url) ? inTurn(`user ${run.creator?.id}`, handOver, run.signal) : handOver());
  } finally {
    network.client.close();
  }
}
