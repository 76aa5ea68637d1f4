import type { RuleRecord, StorageRecord } from '@wharf/models';

/** A stored storage: what the test says, and quiet defaults. */
export function storageRecord(rest: Partial<StorageRecord> = {}): StorageRecord {
  return {
    _id: 1,
    mount_path: '/',
    order: 0,
    driver: 'Memory',
    cache_expiration: 30,
    custom_cache_policies: '',
    status: 'work',
    addition: '{}',
    remark: '',
    modified: new Date('2024-05-01T00:00:00Z'),
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
    ...rest,
  };
}

/** A stored rule that says nothing but what the test says. */
export function ruleRecord(rest: Partial<RuleRecord> = {}): RuleRecord {
  return {
    _id: 1,
    path: '/',
    password: '',
    p_sub: false,
    write: false,
    w_sub: false,
    hide: '',
    h_sub: false,
    readme: '',
    r_sub: false,
    header: '',
    header_sub: false,
    read_users: [],
    read_users_sub: false,
    write_users: [],
    write_users_sub: false,
    ...rest,
  };
}
