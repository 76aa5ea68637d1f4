import { describe, expect, it } from 'vitest';
import { SETTING_ALIASES, SETTING_CATALOGUE } from './setting-catalogue.ts';

const byKey = new Map(SETTING_CATALOGUE.map((definition) => [definition.key, definition]));

/** Interface 2.5. */
const PUBLIC_KEYS = [
  'allow_indexed allow_mounted announcement audio_autoplay audio_cover auto_update_index default_page_size external_previews favicon',
  'filename_char_mapping forward_direct_link_params hide_files home_container home_icon iframe_previews logo main_color ocr_api',
  'package_download pagination_type robots_txt search_index settings_layout site_title sso_login_enabled sso_login_platform version',
  'video_autoplay',
].flatMap((line) => line.split(' '));

/** How many settings a group has, aliases included; the end to end tests walk each row. */
const GROUP_SIZES = { 0: 2, 1: 8, 2: 9, 3: 17, 4: 14, 5: 10, 6: 4, 7: 3, 8: 2, 11: 7 };

describe('the setting catalogue', () => {
  it('names every key once', () => {
    expect(byKey.size).toBe(SETTING_CATALOGUE.length);
  });

  it('has every setting of each group', () => {
    const sizes: Record<number, number> = {};
    for (const { group } of SETTING_CATALOGUE) sizes[group] = (sizes[group] ?? 0) + 1;
    expect(sizes).toEqual(GROUP_SIZES);
  });

  it.each(PUBLIC_KEYS)('%s is public', (key) => {
    expect(byKey.get(key)?.flag).toBe(key === 'version' ? 2 : 0);
  });

  it.each(['token', 'index_progress', 'rpcdl_secret', 'torrent_url', 'privacy_regs'])('%s is private', (key) => {
    expect(byKey.get(key)?.flag).toBe(1);
  });

  it('calls secrets what is one or may have one in it', () => {
    const secrets = SETTING_CATALOGUE.filter(({ isSecret }) => isSecret).map(({ key }) => key);
    expect(secrets.filter((key) => !(key in SETTING_ALIASES))).toEqual(['rpcdl_uri', 'rpcdl_secret', 'torrent_url', 'transmission_uri']);
    for (const key of secrets) expect(byKey.get(key)?.flag).toBe(1);
  });

  it('says the level of the API in three bare numbers', () => {
    expect(byKey.get('version')?.value).toBe('v4.2.0');
  });

  it('gives every select a default among its options, or none', () => {
    for (const { key, type, options, value } of SETTING_CATALOGUE) {
      if (type === 'select') expect([key, '', ...(options ?? '').split(',')]).toContain(value);
      else expect([key, options]).toEqual([key, undefined]);
    }
  });

  it('gives every number a number and every bool true or false', () => {
    for (const { key, type, value } of SETTING_CATALOGUE) {
      if (type === 'number') expect([key, String(Number(value))]).toEqual([key, value]);
      if (type === 'bool') expect(['true', 'false']).toContain(value);
    }
  });

  it('has no default with a password, and no address of somebody else', () => {
    for (const { key, value } of SETTING_CATALOGUE)
      for (const [address] of value.matchAll(/https?:\/\/[^\s"]+/g)) {
        expect([key, new URL(address).hostname]).toEqual([key, 'localhost']);
        expect([key, new URL(address).password]).toEqual([key, '']);
      }
  });

  it('switches off what is not offered', () => {
    for (const key of ['webauthn_login_enabled', 'sso_login_enabled', 'ldap_login_enabled'])
      expect(byKey.get(key)).toMatchObject({ value: 'false', isFixed: true });
    expect(byKey.get('search_index')?.value).toBe('none');
  });

  it('lists an alias right behind its setting, alike but for the key', () => {
    for (const [alias, key] of Object.entries(SETTING_ALIASES)) {
      expect(byKey.get(alias)).toEqual({ ...byKey.get(key), key: alias });
      expect(SETTING_CATALOGUE.findIndex((item) => item.key === alias)).toBe(SETTING_CATALOGUE.findIndex((item) => item.key === key) + 1);
    }
  });
});
