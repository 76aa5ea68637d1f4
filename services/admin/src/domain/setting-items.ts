import { SETTING_ALIASES, SETTING_CATALOGUE, type SettingDefinition, type StoredSetting } from '@wharf/models';

/** A setting as clients see it. `index` is its place in the list of all. */
export interface SettingItem extends StoredSetting {
  readonly index: number;
}

/** The key whose value auth keeps. */
export const TOKEN_KEY = 'token';
/** The key under which admins find how far indexing is. */
const INDEX_PROGRESS_KEY = 'index_progress';
/** The key of the setting that chooses the index engine. */
export const SEARCH_INDEX_KEY = 'search_index';
/** The flag of a setting that only was saved, once a service started after that. */
export const DEPRECATED = 3;

const DEFINITIONS: ReadonlyMap<string, SettingDefinition> = new Map(SETTING_CATALOGUE.map((definition) => [definition.key, definition]));

/** The factory's definition of a key, an alias included; undefined for a key that only was saved. */
export const findDefinition = (key: string): SettingDefinition | undefined => DEFINITIONS.get(key);

/** The key under which a setting is stored: its own, or the one that it is an alias of. */
export const storedKeyOf = (key: string): string => SETTING_ALIASES[key] ?? key;

/** A secret of the factory; and what only was saved, unless everybody may see it: nobody knows what it is. */
export function isSecret({ key, flag }: Pick<StoredSetting, 'key' | 'flag'>): boolean {
  const definition = DEFINITIONS.get(key);
  return definition ? definition.isSecret === true : flag !== 0;
}

/** The value in force of a setting of the factory. */
export function valueInForce(definition: SettingDefinition, saved: ReadonlyMap<string, StoredSetting>): string {
  if (definition.flag === 2 || definition.isFixed) return definition.value;
  return saved.get(storedKeyOf(definition.key))?.value ?? definition.value;
}

/** Every setting: those of the factory in their order, then those that only were saved. The token's value is empty here. */
export function settingItems(saved: readonly StoredSetting[]): SettingItem[] {
  const byKey = new Map(saved.map((item) => [item.key, item]));
  const known = SETTING_CATALOGUE.map((definition) => withForm(definition, valueInForce(definition, byKey)));
  const others = saved.filter((item) => !DEFINITIONS.has(item.key));
  return [...known, ...others].map((item, index) => ({ ...item, index }));
}

/** The settings of the factory with the values that they start from. */
export const factoryItems = (): SettingItem[] => settingItems([]);

/** @param groups empty: all of them. */
export function itemsOfGroups(items: readonly SettingItem[], groups: readonly number[]): readonly SettingItem[] {
  return groups.length === 0 ? items : items.filter((item) => groups.includes(item.group));
}

/** The items with the token's value, which is asked for only when the token is among them. */
export async function withToken(items: readonly SettingItem[], token: () => Promise<string> | string): Promise<readonly SettingItem[]> {
  const place = items.findIndex((item) => item.key === TOKEN_KEY);
  const item = items[place];
  return item ? items.with(place, { ...item, value: await token() }) : items;
}

/** What is stored of a setting of the factory. */
export function withForm(definition: SettingDefinition, value: string): StoredSetting {
  const { key, help = '', type, options = '', group, flag } = definition;
  return { key, value, help, type, options, group, flag };
}

/** Items for settings of the factory with new values. */
export function toolItems(values: Readonly<Record<string, string>>): StoredSetting[] {
  return Object.entries(values).map(([key, value]) => {
    const definition = DEFINITIONS.get(key);
    if (!definition) throw new Error(`${key} is no setting of the factory`);
    return withForm(definition, value);
  });
}

/** The saved settings with those flagged as deprecated that the factory does not know; undefined when all are so already. */
export function deprecateUnknown(saved: readonly StoredSetting[]): StoredSetting[] | undefined {
  const isStray = (item: StoredSetting) => item.flag !== DEPRECATED && !DEFINITIONS.has(item.key);
  return saved.some(isStray) ? saved.map((item) => (isStray(item) ? { ...item, flag: DEPRECATED } : item)) : undefined;
}

/** The saved settings with the progress of indexing as its text of JSON; undefined when it is there already. */
export function withIndexProgress(saved: readonly StoredSetting[], progress: string): StoredSetting[] | undefined {
  const definition = findDefinition(INDEX_PROGRESS_KEY);
  if (!definition || saved.some(({ key, value }) => key === INDEX_PROGRESS_KEY && value === progress)) return undefined;
  return [...saved.filter(({ key }) => key !== INDEX_PROGRESS_KEY), withForm(definition, progress)];
}

/** The value in force of `search_index`. */
export function searchIndexOf(saved: readonly StoredSetting[]): string {
  const definition = findDefinition(SEARCH_INDEX_KEY);
  return definition ? valueInForce(definition, new Map(saved.map((item) => [item.key, item]))) : '';
}
