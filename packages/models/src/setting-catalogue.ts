import type { SettingDefinition } from './settings.ts';

/** Names under which existing clients know a setting, and its own name. Both act on one stored value. */
export const SETTING_ALIASES: Readonly<Record<string, string>> = {
  aria2_uri: 'rpcdl_uri',
  aria2_secret: 'rpcdl_secret',
  qbittorrent_url: 'torrent_url',
  qbittorrent_seedtime: 'torrent_seedtime',
};

/** Every setting of the factory, in the order of answers. */
export const SETTING_CATALOGUE: readonly SettingDefinition[] = [
  { key: 'version', value: 'v4.2.0', type: 'string', group: 1, flag: 2 },
  { key: 'site_title', value: 'Wharf', type: 'string', group: 1, flag: 0 },
];
