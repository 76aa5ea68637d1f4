/** A user. Written by auth. */
export interface UserRecord {
  _id: number;
  username: string;
  /** The name normalised and case-folded; unique, so that no two names look the same. */
  username_key: string;
  /** argon2id of the static hash. */
  password_hash: string;
  /** Unix seconds of the last password change. */
  pwd_ts: number;
  base_path: string;
  /** 0 general, 1 guest, 2 admin. */
  role: number;
  permission: number;
  disabled: boolean;
  sso_id: string;
  allow_ldap: boolean;
  /** What the files below his base path may have in bytes; 0 or absent: as much as there is room for. */
  quota_bytes?: number;
  /** Sealed; empty while two-step verification is off. */
  otp_secret: string;
  /** The step of the last code that was used with the secret, in units of 30 s since 1970; codes up to it are used up. */
  otp_last_step?: number;
  /** Keyed digests of the recovery codes that are left. */
  otp_recovery?: string[];
  /** Sealed; the secret that waits to be verified, or empty. */
  otp_pending?: string;
  otp_pending_until?: Date | null;
}

/** A public key of a user. Written by auth. */
export interface SshKeyRecord {
  _id: number;
  user_id: number;
  /** Unique among the user's keys. */
  title: string;
  /** As in the key itself: `ssh-ed25519` and the like. */
  type: string;
  /** The key's wire form, as base64. */
  blob: string;
  fingerprint: string;
  added_at: Date;
  last_used_at: Date;
}

/** A password that logs one app in. Written by auth. */
export interface AppPasswordRecord {
  _id: number;
  user_id: number;
  name: string;
  /** Keyed digest of the password. */
  digest: string;
  /** `webdav`, `ftp`, `sftp`. */
  protocols: string[];
  read_only: boolean;
  /** What it sees of the user's tree. */
  path: string;
  created_at: Date;
  /** The store forgets it then; null: never. */
  expires_at: Date | null;
  last_used_at: Date | null;
}

/** An entry of the audit trail. Written by auth; only failed logins that repeat within an hour are counted in one. */
export interface AuditRecord {
  /** In the order of time. */
  _id: string;
  /** The store forgets it half a year later. */
  at: Date;
  action: string;
  /** 0: not known. */
  user_id: number;
  username: string;
  address: string;
  target: string;
  detail: string;
  /** How often it happened; absent: once. */
  count?: number;
  /** Of the last time; absent: `at`. */
  last_at?: Date;
  /** Of failed logins: what is the same of those that are counted together. */
  repeat_key?: string;
}

/** A login that was not ended. Written by auth. */
export interface SessionRecord {
  _id: string;
  user_id: number;
  address: string;
  created_at: Date;
  /** Within ten minutes; absent in records of older versions until it is used. */
  last_used_at?: Date;
  /** The store forgets it then. */
  expires_at: Date;
}

/** An address that logged in to an account. Written by auth. */
export interface LoginAddressRecord {
  /** `<user id> <address>`. */
  _id: string;
  user_id: number;
  /** The store forgets it half a year later. */
  last_login_at: Date;
}

/** Failed logins of one address or to one account, or wrong codes of a user. Written by auth. */
export interface LoginAttemptRecord {
  /** `address <address>`, `account <name's key>` or `code <user id>`. */
  _id: string;
  failures: number;
  /** The count starts anew then. */
  expires_at: Date;
}

/** The permanent admin token. Written by auth; there is one. */
export interface PermanentTokenRecord {
  _id: 'permanent';
  sealed: string;
}

/** A number that only rises: the last id given out, or the revision of an owner's data. One collection for each owner. */
export interface CounterRecord {
  _id: string;
  value: number;
}

/** A configured back end. Written by admin. */
export interface StorageRecord {
  _id: number;
  mount_path: string;
  order: number;
  driver: string;
  cache_expiration: number;
  custom_cache_policies: string;
  status: string;
  /** The driver's own settings: the sealed text of a JSON object. */
  addition: string;
  remark: string;
  modified: Date;
  disabled: boolean;
  disable_index: boolean;
  enable_sign: boolean;
  order_by: string;
  order_direction: string;
  extract_folder: string;
  web_proxy: boolean;
  webdav_policy: string;
  proxy_range: boolean;
  down_proxy_url: string;
  disable_proxy_sign: boolean;
}

/** One stored setting. */
export interface StoredSetting {
  key: string;
  value: string;
  help: string;
  type: string;
  options: string;
  group: number;
  flag: number;
  /** The value is a secret, sealed for the store. */
  sealed?: boolean;
}

/** Every setting whose value was ever saved, in one document, so that a save is all or nothing. Written by admin. */
export interface SettingsRecord {
  _id: 'settings';
  /** Rises with each save; a save names the one it started from. */
  revision: number;
  items: StoredSetting[];
}

/** Entries that changed through one replica of fs, for the others that may not have heard of it. */
export interface EntryChangeRecord {
  /** Rises by one. */
  _id: number;
  replica: string;
  /** Of the whole tree. */
  paths: string[];
  at: Date;
}

/** What is known of the bytes below one base path, for the quotas of those who have it. Written by fs. */
export interface QuotaLedgerRecord {
  /** The base path. */
  _id: string;
  /** Bytes that a count found, less `written_bytes` as it was when the count began. */
  base_bytes: number;
  /** Bytes written since the ledger was made; it only rises. */
  written_bytes: number;
  /** `base_bytes + written_bytes` and all claims: the one number that a new claim is compared with. */
  held_bytes: number;
  /** When the last count began; 1970 when the next claim must wait for a count. */
  counted_at: Date;
  /** What writes that have begun may add, by the id of the claim. */
  claims: Record<string, { bytes: number; expires_at: Date }>;
}

/** A path rule. Written by admin. */
export interface RuleRecord {
  _id: number;
  path: string;
  /** Sealed; empty when there is none. */
  password: string;
  p_sub: boolean;
  write: boolean;
  w_sub: boolean;
  hide: string;
  h_sub: boolean;
  readme: string;
  r_sub: boolean;
  header: string;
  header_sub: boolean;
  read_users: number[];
  read_users_sub: boolean;
  write_users: number[];
  write_users_sub: boolean;
}

/** A folder of the search index. Written by fs. */
export interface IndexFolderRecord {
  /** Random. */
  _id: string;
  path: string;
  /** Levels below it that are indexed; -1: all. */
  depth: number;
  /** The generation under which it waits to be listed; null: it does not. */
  queued: number | null;
}

/** An entry of the search index. Written by fs. */
export interface IndexEntryRecord {
  /** `<folder>/<name>`. */
  _id: string;
  /** The id of its folder. */
  folder: string;
  name: string;
  is_dir: boolean;
  size: number;
  /** Every sequence of three characters of the name, with ASCII letters in lower case. */
  grams: string[];
}

/** What is known of the search index as a whole, and who works on it. Written by fs; there is one. */
export interface IndexStateRecord {
  _id: 'index';
  revision: number;
  /** JSON. */
  body: string;
  owner: string;
  lease_until: Date;
}
