import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import {
  isDuplicateKey,
  itemsOf,
  type Models,
  openItems,
  readSettingsRecord,
  type SettingsRecord,
  type StoredSetting,
} from '@wharf/models';
import { seal, unseal } from '@wharf/service-kit';

/** The saved settings: one document, changed by compare-and-set. Secrets are sealed in it and in clear here. */
export interface SettingStore {
  read(): Promise<readonly StoredSetting[]>;
  /**
   * Stores what `edit` makes of the saved settings, all or nothing; again from the start when somebody else saved in between.
   * Secrets that lie in the document in clear are sealed on the way.
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

/** @param isSecret whether the value of a setting is sealed in the store. */
export function createSettingStore(models: Models, key: Buffer, isSecret: (item: StoredSetting) => boolean): SettingStore {
  const { settings } = models;
  const open = (record: SettingsRecord | undefined): StoredSetting[] => openItems(record, (sealed) => unseal(key, sealed));
  const close = (item: StoredSetting): StoredSetting =>
    isSecret(item) && item.value !== '' ? { ...item, value: seal(key, item.value), sealed: true } : item;
  return {
    read: async () => open(await readSettingsRecord(models)),
    async change(edit) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const record = await readSettingsRecord(models);
        const saved = open(record);
        const isInClear = itemsOf(record).some((item) => !item.sealed && close(item).sealed);
        const edited = edit(saved) ?? (isInClear ? saved : undefined);
        if (!edited) return false;
        const items = edited.map(close);
        if (record === undefined) {
          if (await insertFirst(items)) return true;
        } else {
          // Of a revision that is no number nobody can say whether it is still the same.
          const { revision } = record;
          const isNumber = Number.isFinite(revision);
          const next = { items, revision: isNumber ? revision + 1 : 1 };
          const { matchedCount } = await settings.updateOne({ _id: ID, ...(isNumber && { revision }) }, { $set: next });
          if (matchedCount === 1) return true;
        }
        await delay(randomInt(MAX_PAUSE_MS));
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
