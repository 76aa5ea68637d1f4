import { defineCollection } from '../collection.ts';
import { flag, harmless, number, type RecordOf, required, text } from '../fields.ts';

/** The longest text of a storage's form, in bytes of UTF-8; it is held in memory by each replica. */
export const MAX_STORAGE_TEXT_BYTES = 64 * 1024;

/** A configured back end. Written by admin. */
export const storages = defineCollection(
  'storages',
  {
    _id: required.number,
    mount_path: required.text,
    order: harmless(number),
    driver: required.text,
    cache_expiration: harmless(number),
    custom_cache_policies: harmless(text),
    status: harmless(text),
    /** The driver's own settings: the sealed text of a JSON object. */
    addition: text,
    remark: harmless(text),
    modified: harmless(required.date),
    disabled: flag,
    disable_index: flag,
    enable_sign: flag,
    order_by: harmless(text),
    order_direction: harmless(text),
    extract_folder: harmless(text),
    web_proxy: flag,
    webdav_policy: text,
    proxy_range: flag,
    down_proxy_url: text,
    disable_proxy_sign: flag,
  },
  [{ mount_path: 1 }, { unique: true }],
);

export type StorageRecord = RecordOf<(typeof storages)['fields']>;
