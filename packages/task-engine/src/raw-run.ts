import type { Logger } from '@wharf/service-kit';
import type { TaskHold } from './task-hold.ts';
import type { RawRun } from './task-kind.ts';
import type { TaskQueue } from './task-queue.ts';

/** What a kind works with while its task is held here. */
export interface RawRuns {
  /** Made for the attempt and again for its cleanup. */
  begin(signal: AbortSignal): RawRun;
  /** Whether this attempt, or one before it, may have written chunks. */
  mayHaveChunks(): boolean;
}

export function createRawRuns(queue: TaskQueue, hold: TaskHold, logger: Logger): RawRuns {
  const { record } = hold;
  const { _id: id, fence } = record;
  const attempt = attemptOf(record);
  /** What the attempt saved last is what its cleanup begins from. */
  let checkpoint = record.checkpoint;
  let areChunksFenced = attempt === 1;
  let mayHaveChunks = attempt > 1;
  const fenceChunks = async () => {
    if (areChunksFenced) return;
    await queue.fenceChunks(id, fence);
    areChunksFenced = true;
  };
  const heldUntil = async (signal: AbortSignal): Promise<number> => {
    signal.throwIfAborted();
    const untilMs = await hold.assert();
    signal.throwIfAborted();
    return untilMs;
  };
  const begin = (signal: AbortSignal): RawRun => ({
    id,
    name: record.name,
    creator: record.creator_id === 0 ? undefined : { id: record.creator_id, name: record.creator, role: record.creator_role },
    fence,
    attempt,
    signal,
    logger,
    input: record.input,
    checkpoint,
    async saveCheckpoint(text, isProgress) {
      await hold.write({ checkpoint: text, ...(isProgress ? { losses: 0 } : {}) });
      checkpoint = text;
    },
    progress: (progress) => hold.meter.note(progress),
    assertLease: async () => void (await heldUntil(signal)),
    heldUntil: () => heldUntil(signal),
    async readChunk(index) {
      await fenceChunks();
      return queue.readChunk(id, index);
    },
    async writeChunk(index, text) {
      if (hold.reason() === 'lost') hold.lose();
      mayHaveChunks = true;
      await fenceChunks();
      if (!(await queue.writeChunk(id, fence, index, text))) hold.lose();
    },
    async clearChunks() {
      await hold.write({});
      await queue.removeChunks([id], fence);
    },
  });
  return { begin, mayHaveChunks: () => mayHaveChunks };
}

/** 1 where no worker has begun the claimed task before. */
export function attemptOf({ fence, unbegun = 0 }: { readonly fence: number; readonly unbegun?: number | undefined }): number {
  return fence - unbegun;
}
