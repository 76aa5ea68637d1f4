import { describe, expect, it } from 'vitest';
import { firstValues, type Item, isSecret, missing, toInput, valuesFrom, withPresent } from './item-values.ts';

const item = (name: string, type: string, rest: Partial<Item> = {}): Item => ({
  ...{ name, type, default: '', options: '', required: false, help: '' },
  ...rest,
});
const ITEMS = [
  item('bucket', 'string', { required: true }),
  item('hours', 'number', { default: '4' }),
  item('path_style', 'bool', { default: 'true', required: true }),
];

describe('the form of a driver', () => {
  it('begins with what the template says', () => {
    expect(firstValues(ITEMS)).toEqual({ bucket: '', hours: '4', path_style: true });
    expect(missing(ITEMS, firstValues(ITEMS))).toEqual(['bucket']);
  });

  it('shows what is saved, and the template where nothing is', () => {
    const values = valuesFrom(ITEMS, { bucket: 'photos', hours: 12, other: 1 });
    expect(values).toEqual({ bucket: 'photos', hours: '12', path_style: true });
    expect(toInput(ITEMS, values)).toEqual({ bucket: 'photos', hours: 12, path_style: true });
  });

  it('can be saved where a choice was never made, as of a storage that a program added', () => {
    const policy = item('webdav_policy', 'select', { required: true, default: 'native_proxy', options: 'use_proxy_url,native_proxy' });
    const free = item('order_by', 'select', { options: 'name,size' });
    const values = valuesFrom([policy, free], { webdav_policy: '', order_by: '' });
    expect(values).toEqual({ webdav_policy: 'native_proxy', order_by: '' });
    expect(missing([policy, free], values)).toEqual([]);
  });

  it('leaves out a number that is not given', () => {
    expect(toInput(ITEMS, { bucket: 'b', hours: '', path_style: false })).toEqual({ bucket: 'b', path_style: false });
  });

  it.each([
    ['secret_access_key', true],
    ['password', true],
    ['session_token', true],
    ['salt', true],
    ['host_key', false],
    ['bucket', false],
  ])('hides %s: %s', (name, isHidden) => {
    expect(isSecret({ name, type: 'string' })).toBe(isHidden);
    expect(isSecret({ name, type: 'text' })).toBe(isHidden);
    expect(isSecret({ name, type: 'bool' })).toBe(false);
  });

  it('keeps what was renewed since it was opened, and what was changed in it', () => {
    const items = [item('oauth_token', 'text'), item('secrets', 'text'), item('root', 'string', { default: '/' })];
    const opened = valuesFrom(items, { oauth_token: 'first', secrets: 's' });
    const renewed = { oauth_token: 'second', secrets: 's', root: '/', other: 1 };
    expect(withPresent(items, opened, { ...opened, root: '/photos' }, renewed)).toEqual({
      oauth_token: 'second',
      secrets: 's',
      root: '/photos',
    });
    expect(withPresent(items, opened, { ...opened, oauth_token: 'entered' }, renewed)).toMatchObject({ oauth_token: 'entered' });
  });
});
