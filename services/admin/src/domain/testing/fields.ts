import { EMPTY_STORAGE } from '../first-storage.ts';
import type { RuleFields } from '../rule.ts';
import type { StorageFields } from '../storage.ts';

/** A storage as an admin enters it: what the test says, and quiet defaults. */
export const storageFields = (rest: Partial<StorageFields> = {}): StorageFields => ({
  ...EMPTY_STORAGE,
  mount_path: '/a',
  driver: 'Local',
  addition: '{}',
  cache_expiration: 30,
  webdav_policy: 'native_proxy',
  ...rest,
});

/** A rule that says nothing but what the test says. */
export const ruleFields = (rest: Partial<RuleFields> = {}): RuleFields => ({
  path: '/a',
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
});
