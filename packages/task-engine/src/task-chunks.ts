import { isDuplicateKey, type TaskChunkRecord, type TaskModels } from '@wharf/models';

/** Chunks that are changed at a time: each may be nearly a megabyte, and an embedded store does nothing else meanwhile. */
const STEP = 8;

/** The pieces of tasks that are too large for one document. */
export interface TaskChunkStore {
  readChunk(id: string, index: number): Promise<string | undefined>;
  /** False: a newer worker has taken the chunk's task. */
  writeChunk(id: string, fence: number, index: number, body: string): Promise<boolean>;
  /** From here on no older worker can change the chunks that are there. */
  fenceChunks(id: string, fence: number): Promise<void>;
  /** @param fence of the worker that has them removed: those of a newer one stay. Left out: nobody has these tasks */
  removeChunks(ids: readonly string[], fence?: number): Promise<void>;
}

export function createTaskChunkStore({ chunks }: Pick<TaskModels, 'chunks'>): TaskChunkStore {
  /** Changes those that meet a filter a few at a time. */
  const inSteps = async (filter: Readonly<Record<string, unknown>>, change: (these: { _id: { $in: string[] } }) => Promise<unknown>) => {
    const found = chunks.find(filter, { _id: 1 }).batchSize(STEP).lean<Pick<TaskChunkRecord, '_id'>[]>().cursor();
    const ids: string[] = [];
    const step = () => change({ _id: { $in: ids.splice(0) } });
    for await (const { _id } of found as AsyncIterable<Pick<TaskChunkRecord, '_id'>>) if (ids.push(_id) === STEP) await step();
    if (ids.length > 0) await step();
  };
  return {
    async readChunk(id, index) {
      return (await chunks.findById(chunkId(id, index)).lean())?.body;
    },

    async writeChunk(id, fence, index, body) {
      try {
        await chunks.updateOne(
          { _id: chunkId(id, index), fence: { $lte: fence } },
          { $set: { fence, body }, $setOnInsert: { task: id, index } },
          { upsert: true },
        );
        return true;
      } catch (error) {
        // The chunk is there under a higher fence, so the filter missed it and the insert met it.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },

    async fenceChunks(id, fence) {
      const older = { fence: { $lt: fence } };
      await inSteps({ task: id, ...older }, (these) => chunks.updateMany({ ...these, ...older }, { $set: { fence } }));
    },

    async removeChunks(ids, fence) {
      const own = fence === undefined ? {} : { fence: { $lte: fence } };
      if (ids.length > 0) await inSteps({ task: { $in: [...ids] }, ...own }, (these) => chunks.deleteMany({ ...these, ...own }));
    },
  };
}

const chunkId = (id: string, index: number) => `${id}:${index}`;
