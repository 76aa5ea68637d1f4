import { AppError } from '@wharf/errors';
import type { StoredSetting } from '@wharf/models';
import { describe, expect, it } from 'vitest';
import { planSave } from './plan-save.ts';
import { settingItems } from './setting-items.ts';

const item = (key: string, value: string, rest: Partial<StoredSetting> = {}): StoredSetting => ({
  key,
  value,
  help: '',
  type: 'string',
  options: '',
  group: 1,
  flag: 1,
  ...rest,
});
const valuesOf = (items: readonly StoredSetting[] | undefined) => items && Object.fromEntries(items.map(({ key, value }) => [key, value]));
const errorOf = (...given: StoredSetting[]) => {
  try {
    planSave([], given);
  } catch (error) {
    return AppError.from(error);
  }
  throw new Error('nothing was refused');
};

describe('planSave', () => {
  it('takes every setting as it is listed and changes nothing', () => {
    const saved = [item('site_title', 'Quay'), item('mine', 'x', { flag: 3 })];
    expect(planSave(saved, settingItems(saved))).toBeUndefined();
  });

  it('takes only the value of a known setting', () => {
    const planned = planSave([], [item('site_title', 'Quay', { flag: 3, group: 9, type: 'x', help: 'y' })]);
    expect(planned).toEqual([{ key: 'site_title', value: 'Quay', help: '', type: 'string', options: '', group: 1, flag: 0 }]);
  });

  it('keeps what was not given', () => {
    const saved = [item('logo', '/a.svg'), item('mine', 'x')];
    expect(valuesOf(planSave(saved, [item('mine', 'y'), item('site_title', 'Q')]))).toEqual({ logo: '/a.svg', mine: 'y', site_title: 'Q' });
  });

  it('passes over read-only and fixed settings and the token', () => {
    const given = [item('version', 'v1'), item('webauthn_login_enabled', 'true'), item('index_progress', 'x'), item('token', 'secret')];
    expect(planSave([], given)).toBeUndefined();
  });

  it('counts the last of two items with one key', () => {
    expect(valuesOf(planSave([], [item('site_title', 'A'), item('site_title', 'B')]))).toEqual({ site_title: 'B' });
  });

  it.each([
    ['the setting', { rpcdl_uri: 'http://new/', aria2_uri: 'http://old/' }, 'http://new/'],
    ['the alias', { rpcdl_uri: 'http://old/', aria2_uri: 'http://new/' }, 'http://new/'],
    ['both, to different values', { aria2_uri: 'http://a/', rpcdl_uri: 'http://b/' }, 'http://b/'],
  ])('changes one stored value when a whole group changes %s', (_what, given, value) => {
    const planned = planSave(
      [item('rpcdl_uri', 'http://old/')],
      Object.entries(given).map(([key, text]) => item(key, text)),
    );
    expect(valuesOf(planned)).toEqual({ rpcdl_uri: value });
  });

  it('refuses a value with the key and the reason', () => {
    const error = errorOf(item('site_title', 'Quay'), item('default_page_size', 'many'));
    expect(error).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'failed to execute hook on default_page_size: must be a positive integer',
      details: { key: 'default_page_size' },
    });
  });

  it('names the alias when the alias was given', () => {
    expect(errorOf(item('qbittorrent_seedtime', 'x')).message).toBe('failed to execute hook on qbittorrent_seedtime: must be an integer');
  });

  it.each([0, 1, 3])('makes an unknown setting with flag %i and all its fields', (flag) => {
    const unknown = item('mine', 'x', { flag, help: 'h', type: 'select', options: 'x,y', group: 4 });
    expect(planSave([], [unknown])).toEqual([unknown]);
  });

  it.each([2, 7, -1])('makes an unknown setting of flag %i private', (flag) => {
    expect(planSave([], [item('mine', 'x', { flag })])?.[0]?.flag).toBe(1);
  });

  it('never shows everybody the key that would switch clients into another dialect', () => {
    expect(planSave([], [item('backend', 'ts-worker', { flag: 0 })])?.[0]?.flag).toBe(1);
  });

  it('takes only the value of a setting that was made by a save', () => {
    const saved = [item('mine', 'x', { flag: 3 })];
    expect(planSave(saved, [item('mine', 'y', { flag: 0, help: 'z' })])).toEqual([item('mine', 'y', { flag: 3 })]);
  });

  it('takes 64 KiB of text and no byte more', () => {
    expect(planSave([], [item('announcement', 'x'.repeat(65_536))])).toHaveLength(1);
    expect(errorOf(item('announcement', `ä${'x'.repeat(65_535)}`))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'the setting announcement is longer than 65536 bytes',
    });
    expect(errorOf(item('mine', '', { help: 'x'.repeat(5_000) })).code).toBe('INVALID_ARGUMENT');
  });

  it.each(['', 'a b', '__proto__.x/', '$where', 'x'.repeat(129)])('refuses the key %j', (key) => {
    expect(errorOf(item(key, 'x')).code).toBe('INVALID_ARGUMENT');
  });

  it('keeps a key that is a property of every object apart from that property', () => {
    expect(planSave([], [item('__proto__', 'x')])?.[0]).toMatchObject({ key: '__proto__', value: 'x' });
    expect(planSave([], [item('constructor', 'x')])?.[0]).toMatchObject({ key: 'constructor', value: 'x' });
  });

  it('bounds how many settings there are', () => {
    const many = (count: number) => Array.from({ length: count }, (_, place) => item(`mine${place}`, 'x'));
    expect(planSave([], many(128))).toHaveLength(128);
    expect(errorOf(...many(129)).code).toBe('INVALID_ARGUMENT');
    expect(errorOf(...many(1_001)).code).toBe('INVALID_ARGUMENT');
  });
});
