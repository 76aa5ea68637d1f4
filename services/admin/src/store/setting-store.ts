import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { isDuplicateKey, type Models, readSettingsRecord, type StoredSetting } from '@wharf/models';

/** The saved settings: one document, changed by compare-and-set. */
export interface SettingStore {
  read(): Promise<readonly StoredSetting[]>;
  /**
   * Stores what `edit` makes of the saved settings, all or nothing; again from the start when somebody else saved in between.
   *
   * @param edit has no effects; undefined changes nothing.
   * @returns whether anything was stored. @throws AppError STALE_VERSION: others never stopped saving; and whatever `edit` throws
   */
  change(edit: (saved: readonly StoredSetting[]) => readonly StoredSetting[] | undefined): Promise<boolean>;
}

const ID = 'settings';
/** Each try fails only when another save succeeded, so this many savers at once get through. */
const MAX_TRIES = 100;
const MAX_PAUSE_MS = 20;

export function createSettingStore(models: Models): SettingStore {
  const { settings } = models;
  return {
    read: async () => (await readSettingsRecord(models))?.items ?? [],
    async change(edit) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const record = await readSettingsRecord(models);
        const items = edit(record?.items ?? []);
        if (!items) return false;
        if (record === undefined) {
          if (await insertFirst(items)) return true;
        } else {
          const next = { items: [...items], revision: record.revision + 1 };
          const { matchedCount } = await settings.updateOne({ _id: ID, revision: record.revision }, { $set: next });
          if (matchedCount === 1) return true;
        }
        await delay(Math.random() * MAX_PAUSE_MS);
      }
      throw new AppError('STALE_VERSION', 'the settings are being changed by somebody else, please try again');
    },
  };

  async function insertFirst(items: readonly StoredSetting[]): Promise<boolean> {
    try {
      await settings.create({ _id: ID, revision: 1, items: [...items] });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}
