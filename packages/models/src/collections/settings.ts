import { defineCollection } from '../collection.ts';
import { harmless, number, only, optional, type RecordOf, records, required, text } from '../fields.ts';

/** One stored setting. */
export const storedSetting = {
  key: required.text,
  value: text,
  help: harmless(text),
  type: harmless(text),
  options: harmless(text),
  group: harmless(number),
  flag: number,
  /** The value is a secret, sealed for the store. */
  sealed: optional.flag,
} as const;

export type StoredSetting = RecordOf<typeof storedSetting>;

/** Every setting whose value was ever saved, in one document, so that a save is all or nothing. Written by admin. */
export const settings = defineCollection('settings', {
  _id: only('settings'),
  /** Rises with each save; a save names the one it started from. */
  revision: number,
  items: records(storedSetting),
});

export type SettingsRecord = RecordOf<(typeof settings)['fields']>;
