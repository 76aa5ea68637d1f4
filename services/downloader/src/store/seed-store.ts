import { type SeedRecord, seedModelOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';

/** Torrents that stay in their tool for a while after their files were taken over. */
export interface SeedStore {
  init(): Promise<void>;
  /** @param removeAt undefined: it stays for ever. */
  add(seed: { taskId: string; tool: string; toolId: string; removeAt: Date | undefined }): Promise<void>;
  /** Leaves a file to whoever ends the seeding; false when nobody will. */
  leaveFile(taskId: string, name: string): Promise<boolean>;
  /** Takes one whose time is over: nobody else gets it. */
  takeDue(now: Date): Promise<SeedRecord | undefined>;
  /** Puts one back for another try. */
  putBack(seed: SeedRecord, removeAt: Date): Promise<void>;
}

export function createSeedStore(connection: StoreConnection): SeedStore {
  const model = seedModelOf(connection);
  return {
    async init() {
      await model.createIndexes();
    },
    async add({ taskId, tool, toolId, removeAt }) {
      const seed = { tool, tool_id: toolId, remove_at: removeAt ?? null };
      await model.updateOne({ _id: taskId }, { $set: seed, $setOnInsert: { left_files: [] } }, { upsert: true });
    },
    async leaveFile(taskId, name) {
      const found = await model.updateOne({ _id: taskId }, { $addToSet: { left_files: name } });
      return found.matchedCount > 0;
    },
    async takeDue(now) {
      return (await model.findOneAndDelete({ remove_at: { $ne: null, $lte: now } }).lean<SeedRecord>()) ?? undefined;
    },
    async putBack(seed, removeAt) {
      await model.updateOne({ _id: seed._id }, { $set: { ...seed, remove_at: removeAt } }, { upsert: true });
    },
  };
}
