import { type SettingsRecord, type StoredSetting, storedSetting } from './collections/settings.ts';
import type { Models } from './models.ts';
import { readRecord } from './read-record.ts';
import { readSettingsRecord } from './reads.ts';
import { SETTING_ALIASES, SETTING_CATALOGUE } from './setting-catalogue.ts';

/** Values of all settings by key: the saved ones over the factory's. */
export interface Settings {
  /** Empty text for a key nobody knows. */
  text(key: string): string;
  isOn(key: string): boolean;
  /** `fallback` when the text is no number. */
  number(key: string, fallback: number): number;
  /** The parts of a comma-separated list, trimmed, lower case, none empty. */
  list(key: string): ReadonlySet<string>;
  /** Key and value of every setting that anybody may see. */
  readonly public: Readonly<Record<string, string>>;
}

/** @param unseal opens secrets (service-kit's `unseal` with `keys.atRest`); without it they have their factory values. */
export async function readSettings(models: Models, unseal?: (sealed: string) => string): Promise<Settings> {
  return settingsFrom(await readSettingsRecord(models), unseal);
}

/** @param record undefined: nothing was ever saved. */
export function settingsFrom(record: SettingsRecord | undefined, unseal?: (sealed: string) => string): Settings {
  const saved = new Map(openItems(record, unseal).map((item) => [item.key, item]));
  const values = new Map<string, string>();
  const shown: Record<string, string> = {};
  for (const { key, value, flag, isFixed } of SETTING_CATALOGUE) {
    const current = flag === 2 || isFixed ? value : (saved.get(key)?.value ?? value);
    values.set(key, current);
    if (flag !== 1) shown[key] = current;
  }
  for (const item of saved.values()) {
    if (values.has(item.key)) continue;
    values.set(item.key, item.value);
    if (item.flag === 0 || item.flag === 2) shown[item.key] = item.value;
  }
  const lists = new Map<string, ReadonlySet<string>>();
  const text = (key: string) => values.get(SETTING_ALIASES[key] ?? key) ?? '';
  return {
    text,
    isOn: (key) => text(key) === 'true' || text(key) === '1',
    number(key, fallback) {
      const value = Number(text(key));
      return text(key).trim() === '' || !Number.isFinite(value) ? fallback : value;
    },
    list(key) {
      const known = lists.get(key);
      if (known) return known;
      const parts = text(key)
        .split(',')
        .map((part) => part.trim().toLowerCase());
      const list = new Set(parts.filter((part) => part !== ''));
      lists.set(key, list);
      return list;
    },
    public: shown,
  };
}

/** The items as they are stored; those that are stored oddly are left out. */
export function itemsOf(record: SettingsRecord | undefined): StoredSetting[] {
  const items: readonly unknown[] = Array.isArray(record?.items) ? record.items : [];
  return items.flatMap((stored) => {
    if (typeof stored !== 'object' || stored === null) return [];
    const { record: item, odd } = readRecord(storedSetting, stored);
    return odd.length === 0 ? [item] : [];
  });
}

/** The items in clear; those that are stored oddly, or are sealed and cannot be opened, are left out. */
export function openItems(record: SettingsRecord | undefined, unseal: ((sealed: string) => string) | undefined): StoredSetting[] {
  return itemsOf(record).flatMap(({ sealed, ...item }) => {
    if (!sealed) return [item];
    try {
      return unseal ? [{ ...item, value: unseal(item.value) }] : [];
    } catch {
      return [];
    }
  });
}
