import { resolve } from 'node:path';
import type { StorageFields } from './storage.ts';

/** A folder of this machine that is to be a storage. */
export interface FolderMount {
  readonly mountPath: string;
  readonly folder: string;
}

/** One line of a storage's form, with what it proposes as text. */
export interface FormItem {
  readonly name: string;
  readonly type: string;
  readonly default: string;
}

/** The driver that shows folders of this machine, as fs describes it. */
export interface FolderDriver {
  readonly name: string;
  /** The item that says which folder. */
  readonly folderItem: string;
  readonly common: readonly FormItem[];
  readonly additional: readonly FormItem[];
}

/** Where a first start mounts the folder it is given. */
export const FIRST_MOUNT_PATH = '/local';

/** The fields of a storage before anything is filled in. @internal for tests of the domain */
export const EMPTY_STORAGE: Omit<StorageFields, 'mount_path' | 'driver' | 'addition'> = {
  order: 0,
  cache_expiration: 0,
  custom_cache_policies: '',
  remark: '',
  disabled: false,
  disable_index: false,
  enable_sign: false,
  order_by: '',
  order_direction: '',
  extract_folder: '',
  web_proxy: false,
  webdav_policy: '',
  proxy_range: false,
  down_proxy_url: '',
  disable_proxy_sign: false,
};

/** A storage of a folder of this machine; everything else is what the driver's form proposes. */
export function folderStorage(driver: FolderDriver, { mountPath, folder }: FolderMount): StorageFields {
  return {
    ...EMPTY_STORAGE,
    ...proposals(driver.common.filter(({ name }) => name in EMPTY_STORAGE)),
    mount_path: mountPath,
    driver: driver.name,
    addition: JSON.stringify({ ...proposals(driver.additional), [driver.folderItem]: resolve(folder) }),
  };
}

function proposals(items: readonly FormItem[]): Record<string, string | number | boolean> {
  return Object.fromEntries(items.map((item) => [item.name, proposalOf(item)]));
}

function proposalOf({ type, default: proposed }: FormItem): string | number | boolean {
  if (type === 'bool') return proposed === 'true';
  return type === 'number' ? Number(proposed) : proposed;
}
