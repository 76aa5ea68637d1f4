import { resolve } from 'node:path';
import type { StorageFields } from './storage.ts';

/** A folder of this machine that is to be a storage. */
export interface FolderMount {
  readonly mountPath: string;
  readonly folder: string;
}

/** The storage that a first start configures: a folder of this machine at /local. */
export const firstStorage = (filesDir: string): StorageFields => localStorage('/local', filesDir);

/** A storage of a folder of this machine. The values are those that the driver's form proposes. */
export function localStorage(mountPath: string, filesDir: string): StorageFields {
  const addition = {
    root_folder_path: resolve(filesDir),
    directory_size: false,
    thumbnail: false,
    thumb_cache_folder: '',
    thumb_concurrency: '16',
    video_thumb_pos: '20%',
    show_hidden: true,
    mkdir_perm: '777',
    recycle_bin_path: 'delete permanently',
  };
  return {
    mount_path: mountPath,
    order: 0,
    driver: 'Local',
    cache_expiration: 0,
    custom_cache_policies: '',
    addition: JSON.stringify(addition),
    remark: '',
    disabled: false,
    disable_index: false,
    enable_sign: false,
    order_by: '',
    order_direction: '',
    extract_folder: '',
    web_proxy: false,
    webdav_policy: 'native_proxy',
    proxy_range: false,
    down_proxy_url: '',
    disable_proxy_sign: false,
  };
}
