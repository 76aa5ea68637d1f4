import { SETTING_CATALOGUE, type StoredSetting } from '@wharf/models';
import { describe, expect, it } from 'vitest';
import { factoryItems, itemsOfGroups, settingItems, withToken } from './setting-items.ts';

const stored = (key: string, value: string): StoredSetting => ({ key, value, help: '', type: 'string', options: '', group: 5, flag: 3 });

describe('setting items', () => {
  it('stand in the order of the factory, their index is their place', () => {
    expect(factoryItems().map(({ key, index }) => [key, index])).toEqual(SETTING_CATALOGUE.map(({ key }, index) => [key, index]));
  });

  it('have every field as text or number', () => {
    for (const item of factoryItems()) for (const value of Object.values(item)) expect(['string', 'number']).toContain(typeof value);
  });

  it('show the saved value under both names', () => {
    const items = settingItems([stored('rpcdl_uri', 'http://tool/')]);
    expect(items.filter(({ value }) => value === 'http://tool/').map(({ key }) => key)).toEqual(['rpcdl_uri', 'aria2_uri']);
  });

  it('end with those that only were saved', () => {
    expect(settingItems([stored('mine', 'x')]).at(-1)).toEqual({ ...stored('mine', 'x'), index: SETTING_CATALOGUE.length });
  });

  it('of some groups keep their order', () => {
    const items = itemsOfGroups(settingItems([stored('mine', 'x')]), [5, 0]);
    expect(items.map(({ key }) => key)).toEqual([
      ...['token', 'index_progress', 'rpcdl_uri', 'aria2_uri', 'rpcdl_secret', 'aria2_secret', 'torrent_url', 'qbittorrent_url'],
      ...['torrent_seedtime', 'qbittorrent_seedtime', 'transmission_uri', 'transmission_seedtime', 'mine'],
    ]);
    expect(items.every((item, place) => place === 0 || item.index > (items[place - 1]?.index ?? 0))).toBe(true);
  });

  it('ask for the token only when it is among them', async () => {
    const never = () => Promise.reject(new Error('asked'));
    await expect(withToken(itemsOfGroups(factoryItems(), [1]), never)).resolves.toHaveLength(8);
    expect((await withToken(factoryItems(), () => 'secret')).filter(({ value }) => value === 'secret').map(({ key }) => key)).toEqual([
      'token',
    ]);
  });
});
