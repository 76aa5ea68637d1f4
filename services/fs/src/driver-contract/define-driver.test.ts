import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { localDriver } from '../drivers/local/index.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { boolItem, numberItem, selectItem, stringItem, textItem } from './config-items.ts';
import { defineDriver } from './define-driver.ts';
import { createDriverRegistry } from './driver-registry.ts';
import { driverTemplate } from './driver-template.ts';

const opened: unknown[] = [];
const sample = defineDriver({
  name: 'Sample',
  label: 'A sample',
  hasRangeOption: true,
  configSchema: z.object({
    address: stringItem({ required: true, help: 'Where it is.' }),
    key: textItem({ secret: true }),
    hours: numberItem({ default: 4 }),
    style: selectItem(['v1', 'v2'], { default: 'v1' }),
    fast: boolItem({ default: true }),
  }),
  open: async (config) => {
    opened.push(config);
    return memoryDriver.open('');
  },
});

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'accepted';
  } catch (error) {
    return AppError.from(error).code;
  }
}

describe('the addition of a storage', () => {
  it('gets every key in the order of the schema, and zero values instead of defaults', () => {
    expect(sample.normaliseAddition('{}')).toBe('{"address":"","key":"","hours":0,"style":"","fast":false}');
    expect(sample.normaliseAddition('')).toBe(sample.normaliseAddition('{}'));
  });

  it('loses unknown keys and takes null for nothing', () => {
    expect(JSON.parse(sample.normaliseAddition('{"other":1,"__proto__":{"fast":true},"address":null,"fast":null}'))).toEqual({
      address: '',
      key: '',
      hours: 0,
      style: '',
      fast: false,
    });
  });

  it('takes texts for numbers and truth values, and the other way round', () => {
    expect(JSON.parse(sample.normaliseAddition('{"hours":"12","fast":"true","address":5}'))).toMatchObject({
      hours: 12,
      fast: true,
      address: '5',
    });
  });

  it('is the same when it is normalised again', () => {
    const once = sample.normaliseAddition('{"address":"a","hours":"1.5","style":"v2"}');
    expect(sample.normaliseAddition(once)).toBe(once);
  });

  it.each(['[]', '"text"', '5', 'null', '{', '{"hours":"many"}', '{"hours":true}', '{"fast":"maybe"}', '{"address":{}}'])(
    '%s is refused',
    (addition) => expect(codeOf(() => sample.normaliseAddition(addition))).toBe('INVALID_ARGUMENT'),
  );
});

describe('opening', () => {
  it('gives the driver typed values', async () => {
    await sample.open('{"address":"here","hours":"2","style":"v2","fast":true}');
    expect(opened.at(-1)).toEqual({ address: 'here', key: '', hours: 2, style: 'v2', fast: true });
  });

  it('names the required item that is missing, and never shows a value', async () => {
    await expect(sample.open('{}')).rejects.toThrow('address is required');
    await expect(sample.open('{"address":"x","style":"s3cret"}')).rejects.toThrow(/^style: (?!.*s3cret)/);
  });
});

describe('the template', () => {
  it('has the additional items in the order of the schema, each with six fields', () => {
    expect(driverTemplate(sample).additional).toEqual([
      { name: 'address', type: 'string', default: '', options: '', required: true, help: 'Where it is.' },
      { name: 'key', type: 'text', default: '', options: '', required: false, help: '' },
      { name: 'hours', type: 'number', default: '4', options: '', required: false, help: '' },
      { name: 'style', type: 'select', default: 'v1', options: 'v1,v2', required: false, help: '' },
      { name: 'fast', type: 'bool', default: 'true', options: '', required: false, help: '' },
    ]);
    expect([...sample.secretKeys]).toEqual(['key']);
  });

  it('has the common items that fit the driver, in the order of the family', () => {
    const names = (driver: typeof sample) => driverTemplate(driver).common.map((item) => item.name);
    expect(names(sample)).toEqual([
      'mount_path',
      'order',
      'remark',
      'cache_expiration',
      'custom_cache_policies',
      'web_proxy',
      'webdav_policy',
      'proxy_range',
      'down_proxy_url',
      'disable_proxy_sign',
      'extract_folder',
      'disable_index',
      'enable_sign',
    ]);
    expect(names(localDriver)).toEqual([
      'mount_path',
      'order',
      'remark',
      'webdav_policy',
      'down_proxy_url',
      'disable_proxy_sign',
      'order_by',
      'order_direction',
      'extract_folder',
      'disable_index',
      'enable_sign',
    ]);
  });

  it('presets proxying where the driver prefers it', () => {
    const preferring = { ...sample, config: { ...sample.config, prefer_proxy: true } };
    const policy = (driver: typeof sample) => driverTemplate(driver).common.find((item) => item.name === 'webdav_policy');
    expect(policy(sample)).toMatchObject({ default: '302_redirect', options: '302_redirect,use_proxy_url,native_proxy', required: true });
    expect(policy(preferring)).toMatchObject({ default: 'native_proxy', options: '302_redirect,use_proxy_url,native_proxy' });
    expect(policy(localDriver)).toMatchObject({ default: 'native_proxy', options: 'use_proxy_url,native_proxy' });
  });

  it('has the keys of both lines in its config block', () => {
    expect(driverTemplate(localDriver).config).toEqual({
      name: 'Local',
      local_sort: true,
      only_local: true,
      only_proxy: true,
      no_cache: true,
      no_upload: false,
      need_ms: false,
      only_indices: false,
      prefer_proxy: false,
      default_root: '/',
      alert: '',
    });
  });
});

it('a field that is no config item is a mistake of the driver', () => {
  expect(() =>
    defineDriver({ name: 'X', label: 'X', configSchema: z.object({ a: z.string() }), open: () => memoryDriver.open('') }),
  ).toThrow('config item a');
});

it('the registry refuses two drivers of one name and offers only what is for people', () => {
  expect(() => createDriverRegistry([localDriver, memoryDriver, localDriver])).toThrow('two drivers are called Local');
  const registry = createDriverRegistry([localDriver, memoryDriver]);
  expect(registry.offered).toEqual([localDriver]);
  expect(registry.findDriver('Memory')).toBe(memoryDriver);
  expect(registry.findDriver('constructor')).toBeUndefined();
});
