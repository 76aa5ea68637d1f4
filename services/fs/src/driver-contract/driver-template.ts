import type { ConfigItem } from './config-items.ts';
import type { DriverConfig, DriverDefinition } from './define-driver.ts';

/** What clients draw the form of a storage from (docs/api-family.md#driver-templates). */
export interface DriverTemplate {
  /** Fields of the storage itself. */
  readonly common: readonly ConfigItem[];
  /** Fields inside `addition`. */
  readonly additional: readonly ConfigItem[];
  readonly config: DriverConfig & { readonly name: string };
}

export function driverTemplate(driver: DriverDefinition): DriverTemplate {
  return { common: commonItems(driver), additional: driver.items, config: { name: driver.name, ...driver.config } };
}

function commonItems({ config, hasRangeOption }: DriverDefinition): ConfigItem[] {
  const mustProxy = config.only_proxy || config.only_local;
  return [
    item('mount_path', 'string', { required: true, help: 'Where the storage appears in the tree. Unique.' }),
    item('order', 'number', { help: 'Storages with a smaller number come first.' }),
    item('remark', 'text'),
    ...(config.no_cache ? [] : cacheItems),
    ...(mustProxy ? [policyItem('native_proxy', 'use_proxy_url,native_proxy')] : redirectItems(config.prefer_proxy, hasRangeOption)),
    item('down_proxy_url', 'text', { help: 'A server that carries the downloads; the first line counts.' }),
    item('disable_proxy_sign', 'bool', { default: 'false', help: 'Links to that server carry no signature.' }),
    ...(config.local_sort ? sortItems : []),
    item('extract_folder', 'select', { options: 'front,back', help: 'Where folders stand in a listing.' }),
    item('disable_index', 'bool', { default: 'false', required: true, help: 'Search leaves this storage out.' }),
    item('enable_sign', 'bool', { default: 'false', required: true, help: 'Download links are always signed.' }),
  ];
}

function redirectItems(preferProxy: boolean, hasRangeOption: boolean): ConfigItem[] {
  return [
    item('web_proxy', 'bool', { default: preferProxy ? 'true' : '', help: 'Downloads pass through this server.' }),
    policyItem(preferProxy ? 'native_proxy' : '302_redirect', '302_redirect,use_proxy_url,native_proxy'),
    ...(hasRangeOption ? [item('proxy_range', 'bool', { help: 'Fetches only the wanted part from the storage.' })] : []),
  ];
}

const cacheItems: readonly ConfigItem[] = [
  item('cache_expiration', 'number', { default: '30', required: true, help: 'Minutes a listing is kept; 0 keeps none.' }),
  item('custom_cache_policies', 'text', { help: 'One pattern:minutes a line; the first that fits a path counts.' }),
];

const sortItems: readonly ConfigItem[] = [
  item('order_by', 'select', { options: 'name,size,modified' }),
  item('order_direction', 'select', { options: 'asc,desc' }),
];

function policyItem(preset: string, options: string): ConfigItem {
  return item('webdav_policy', 'select', { default: preset, options, required: true });
}

function item(name: string, type: ConfigItem['type'], rest: Partial<Omit<ConfigItem, 'name' | 'type'>> = {}): ConfigItem {
  return { name, type, default: '', options: '', required: false, help: '', ...rest };
}
