import { defineCollection } from '../collection.ts';
import { flag, number, type RecordOf, required, text } from '../fields.ts';

/** The longest text of a storage's form, in bytes of UTF-8; it is held in memory by each replica. */
export const MAX_STORAGE_TEXT_BYTES = 64 * 1024;

/** A configured back end. Written by admin. */
export const storages = defineCollection(
  'storages',
  {
    _id: required.number,
    mount_path: required.text,
    order: number,
    driver: required.text,
    cache_expiration: number,
    custom_cache_policies: text,
    status: text,
    /** The driver's own settings: the sealed text of a JSON object. */
    addition: text,
    remark: text,
    modified: required.date,
    disabled: flag,
    disable_index: flag,
    enable_sign: flag,
    order_by: text,
    order_direction: text,
    extract_folder: text,
    web_proxy: flag,
    webdav_policy: text,
    proxy_range: flag,
    down_proxy_url: text,
    disable_proxy_sign: flag,
  },
  [{ mount_path: 1 }, { unique: true }],
);

export type StorageRecord = RecordOf<(typeof storages)['fields']>;
