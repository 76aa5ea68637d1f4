import { at } from '@wharf/harness';
import { dataOf } from './people.ts';
import type { World } from './world.ts';

/** Saves settings as the manage pages do: whole items back, with new values. */
export async function saveSettings(world: World, values: Record<string, string>): Promise<void> {
  await world.admin.call('/api/admin/setting/save', await settingItems(world, values));
}

export async function settingItems(world: World, values: Record<string, string>): Promise<unknown[]> {
  const items = await dataOf(world.admin, `/api/admin/setting/get?keys=${Object.keys(values).join(',')}`);
  if (!Array.isArray(items)) throw new Error('the settings are no list');
  return items.map((item) => ({ ...item, value: values[String(at(item, 'key'))] }));
}

/** Runs something under other settings, and puts the old ones back. */
export async function withSettings<T>(world: World, values: Record<string, string>, use: () => Promise<T>): Promise<T> {
  const before = await dataOf(world.admin, `/api/admin/setting/get?keys=${Object.keys(values).join(',')}`);
  await saveSettings(world, values);
  try {
    return await use();
  } finally {
    await world.admin.call('/api/admin/setting/save', before);
  }
}
