import { isDuplicateKey, type TaskModels } from '@wharf/models';

/** The pieces of tasks that are too large for one document. */
export interface TaskChunkStore {
  readChunk(id: string, index: number): Promise<string | undefined>;
  /** False: a newer worker has taken the chunk's task. */
  writeChunk(id: string, fence: number, index: number, body: string): Promise<boolean>;
  /** From here on no older worker can change the chunks that are there. */
  fenceChunks(id: string, fence: number): Promise<void>;
  removeChunks(ids: readonly string[]): Promise<void>;
}

export function createTaskChunkStore({ chunks }: Pick<TaskModels, 'chunks'>): TaskChunkStore {
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
      await chunks.updateMany({ task: id, fence: { $lt: fence } }, { $set: { fence } });
    },

    async removeChunks(ids) {
      if (ids.length > 0) await chunks.deleteMany({ task: { $in: [...ids] } });
    },
  };
}

const chunkId = (id: string, index: number) => `${id}:${index}`;
