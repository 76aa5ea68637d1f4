import { makeIndexes, type SeedRecord, seedModelOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';

interface Seed {
  readonly taskId: string;
  readonly tool: string;
  readonly toolId: string;
  /** In which its folder is, for its tool. */
  readonly toolsDir: string;
}

/** Torrents that stay in their tool for a while after their files were taken over, and downloads that ended while their tool was away. */
export interface SeedStore {
  init(): Promise<void>;
  /** @param removeAt undefined: it stays for ever. */
  add(seed: Seed & { removeAt: Date | undefined }): Promise<void>;
  /** Notes a download that has ended, to be taken out when its tool is back, and all of its folder with it. @param toolId empty: nobody heard it */
  giveUp(download: Seed & { removeAt: Date }): Promise<void>;
  /** One that was given up is tried again. @returns false: not yet, as its folder is being removed */
  takeBack(taskId: string): Promise<boolean>;
  /** Nobody takes back a download that was given up until it ends. @returns whether it is as it was taken */
  beginRemoval(seed: SeedRecord): Promise<boolean>;
  /** Its time is over at once, if it was noted. */
  endNow(taskId: string, now: Date): Promise<void>;
  /** Notes a file that is to be removed when the seeding ends; false when the seed is gone. */
  leaveFile(taskId: string, name: string): Promise<boolean>;
  /** Takes a seed of a tool whose time is over. No other replica gets it before `again`. */
  takeDue(tool: string, now: Date, again: Date): Promise<SeedRecord | undefined>;
  /** One that was taken is not due before this. @param again when it would be */
  postpone(taskId: string, again: Date, until: Date): Promise<void>;
  /** Whether it is as it was taken: no file was left to it since, nor was its download given up, ended or brought once more, which is to be transferred. */
  isAsTaken(seed: SeedRecord): Promise<boolean>;
  /** Forgets a seed, if it is as it was taken. @returns whether it was there, and is gone */
  end(seed: SeedRecord): Promise<boolean>;
}

export function createSeedStore(connection: StoreConnection): SeedStore {
  const model = seedModelOf(connection);
  const asTaken = ({ _id, left_files, remove_at, is_given_up }: SeedRecord) => ({
    ...{ _id, left_files, remove_at },
    is_given_up: is_given_up === true ? true : { $ne: true },
  });
  return {
    async init() {
      await makeIndexes(model);
    },
    async add({ taskId, tool, toolId, toolsDir, removeAt }) {
      const seed = { tool, tool_id: toolId, tools_dir: toolsDir, remove_at: removeAt ?? null };
      await model.updateOne({ _id: taskId }, { $set: seed, $setOnInsert: { left_files: [] } }, { upsert: true });
    },
    async giveUp({ taskId, tool, toolId, toolsDir, removeAt }) {
      const seed = { tool, tool_id: toolId, tools_dir: toolsDir, remove_at: removeAt, is_given_up: true };
      await model.updateOne({ _id: taskId }, { $set: seed, $setOnInsert: { left_files: [] } }, { upsert: true });
    },
    async takeBack(taskId) {
      await model.deleteOne({ _id: taskId, is_given_up: true, is_going: { $ne: true } });
      return (await model.exists({ _id: taskId, is_going: true })) === null;
    },
    async beginRemoval(seed) {
      return (await model.updateOne(asTaken(seed), { $set: { is_going: true } })).matchedCount > 0;
    },
    async isAsTaken(seed) {
      return (await model.exists(asTaken(seed))) !== null;
    },
    async endNow(taskId, now) {
      await model.updateOne({ _id: taskId }, { $set: { remove_at: now } });
    },
    async leaveFile(taskId, name) {
      const found = await model.updateOne({ _id: taskId }, { $addToSet: { left_files: name } });
      return found.matchedCount > 0;
    },
    async takeDue(tool, now, again) {
      const due = { tool, remove_at: { $ne: null, $lte: now } };
      const taken = model.findOneAndUpdate(due, { $set: { remove_at: again } }, { returnDocument: 'after' });
      return (await taken.lean<SeedRecord>()) ?? undefined;
    },
    async postpone(taskId, again, until) {
      await model.updateOne({ _id: taskId, remove_at: again }, { $set: { remove_at: until } });
    },
    async end(seed) {
      return (await model.deleteOne(asTaken(seed))).deletedCount > 0;
    },
  };
}
