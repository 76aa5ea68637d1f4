import { describe, expect, it } from 'vitest';
import type { StoredSetting } from './collections/settings.ts';
import { settingsFrom } from './settings.ts';

const stored = (key: string, value: string, flag = 1): StoredSetting => ({
  key,
  value,
  help: '',
  type: 'string',
  options: '',
  group: 0,
  flag,
});
const settingsOf = (...items: StoredSetting[]) => settingsFrom({ _id: 'settings', revision: 1, items });

describe('settingsFrom', () => {
  it('answers factory values while nothing was saved', () => {
    const settings = settingsFrom(undefined);
    expect(settings.text('site_title')).toBe('Wharf');
    expect(settings.number('default_page_size', 0)).toBe(30);
    expect(settings.isOn('sign_all')).toBe(true);
    expect(settings.list('proxy_types')).toEqual(new Set(['m3u8', 'url']));
    expect(settings.text('nobody knows it')).toBe('');
  });

  it('prefers saved values', () => {
    expect(settingsOf(stored('site_title', 'Quay')).public['site_title']).toBe('Quay');
  });

  it('keeps read-only and fixed settings at their factory value', () => {
    const settings = settingsOf(stored('version', 'v9'), stored('webauthn_login_enabled', 'true'));
    expect(settings.text('version')).toBe('v4.2.0');
    expect(settings.isOn('webauthn_login_enabled')).toBe(false);
    expect(settings.public['webauthn_login_enabled']).toBe('false');
  });

  it('reads an alias as the setting that it stands for', () => {
    expect(settingsOf(stored('rpcdl_uri', 'http://tool/')).text('aria2_uri')).toBe('http://tool/');
  });

  it('shows public and read-only settings only', () => {
    const settings = settingsOf(stored('mine', 'a', 0), stored('secret', 'b', 1), stored('old', 'c', 3));
    expect(settings.public).toMatchObject({ mine: 'a', version: 'v4.2.0' });
    for (const key of ['secret', 'old', 'token', 'rpcdl_secret', 'aria2_secret', 'privacy_regs'])
      expect(settings.public).not.toHaveProperty(key);
  });

  it('opens secrets for those who have the key, and keeps them from all others', () => {
    const record = { _id: 'settings' as const, revision: 1, items: [{ ...stored('rpcdl_secret', 'abc'), sealed: true }] };
    expect(settingsFrom(record, (sealed) => sealed.toUpperCase()).text('aria2_secret')).toBe('ABC');
    expect(settingsFrom(record).text('aria2_secret')).toBe('');
    const refuse = () => {
      throw new Error('it cannot be opened');
    };
    expect(settingsFrom(record, refuse).text('aria2_secret')).toBe('');
  });

  it('leaves out what is stored oddly, and the list where it is none', () => {
    const odd = [
      null,
      7,
      'x',
      {},
      { key: 'sign_all', value: {} },
      { ...stored('mine', 'a'), flag: null },
      { ...stored('old', 'b', 0), help: null },
    ];
    const settingsWith = (items: unknown) => settingsFrom({ _id: 'settings', revision: 1, items: items as StoredSetting[] });
    const { public: shown, isOn } = settingsWith(odd);
    expect([isOn('sign_all'), shown['mine'], shown['old']]).toEqual([true, undefined, 'b']);
    for (const none of [undefined, null, 7, 'x', {}]) expect(settingsWith(none).text('site_title')).toBe('Wharf');
  });

  it('takes a number that is none for the fallback', () => {
    expect(settingsOf(stored('default_page_size', 'many')).number('default_page_size', 7)).toBe(7);
    expect(settingsOf(stored('default_page_size', ' ')).number('default_page_size', 7)).toBe(7);
  });
});
