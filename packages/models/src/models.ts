import { type Connection, type Model, Schema, type SchemaDefinition } from 'mongoose';
import { defineModel, flag, number, required, text } from './define-model.ts';
import type {
  AppPasswordRecord,
  AuditRecord,
  CounterRecord,
  EntryChangeRecord,
  IndexEntryRecord,
  IndexFolderRecord,
  IndexStateRecord,
  LoginAddressRecord,
  LoginAttemptRecord,
  PermanentTokenRecord,
  QuotaLedgerRecord,
  RuleRecord,
  SessionRecord,
  SettingsRecord,
  SshKeyRecord,
  StorageRecord,
  StoredSetting,
  UserRecord,
} from './records.ts';

/** Every collection of the store. Reading is for all; writing only for the owner named in records.ts, in its `store/` folder. */
export interface Models {
  readonly users: Model<UserRecord>;
  readonly sshKeys: Model<SshKeyRecord>;
  readonly appPasswords: Model<AppPasswordRecord>;
  readonly sessions: Model<SessionRecord>;
  readonly loginAddresses: Model<LoginAddressRecord>;
  readonly loginAttempts: Model<LoginAttemptRecord>;
  readonly audit: Model<AuditRecord>;
  readonly permanentTokens: Model<PermanentTokenRecord>;
  readonly authCounters: Model<CounterRecord>;
  readonly storages: Model<StorageRecord>;
  readonly settings: Model<SettingsRecord>;
  readonly rules: Model<RuleRecord>;
  readonly adminCounters: Model<CounterRecord>;
  readonly indexFolders: Model<IndexFolderRecord>;
  readonly indexEntries: Model<IndexEntryRecord>;
  readonly indexState: Model<IndexStateRecord>;
  readonly entryChanges: Model<EntryChangeRecord>;
  readonly fsCounters: Model<CounterRecord>;
  readonly quotaLedgers: Model<QuotaLedgerRecord>;
}

const HALF_A_YEAR_S = 180 * 86_400;
/** Replicas look for changes every few seconds. */
const CHANGES_KEPT_S = 600;

/** The models of a connection; a second call answers the same ones. */
export function modelsOf(connection: Connection): Models {
  const define = <Record>(name: string, definition: SchemaDefinition, index?: (schema: Schema) => void): Model<Record> =>
    defineModel(connection, name, definition, index);
  const counter = { _id: required(String), value: number };
  return {
    users: define<UserRecord>(
      'users',
      {
        _id: required(Number),
        username: required(String),
        username_key: required(String),
        password_hash: text,
        pwd_ts: number,
        base_path: required(String),
        role: required(Number),
        permission: number,
        disabled: flag,
        sso_id: text,
        allow_ldap: flag,
        quota_bytes: number,
        otp_secret: text,
        otp_last_step: number,
        otp_recovery: [String],
        otp_pending: text,
        otp_pending_until: { type: Date, default: null },
      },
      (schema) => {
        schema.index({ username_key: 1 }, { unique: true });
        schema.index({ role: 1 });
      },
    ),
    sshKeys: define<SshKeyRecord>(
      'ssh_keys',
      {
        _id: required(Number),
        user_id: required(Number),
        title: required(String),
        type: required(String),
        blob: required(String),
        fingerprint: required(String),
        added_at: required(Date),
        last_used_at: required(Date),
      },
      (schema) => {
        schema.index({ user_id: 1, title: 1 }, { unique: true });
      },
    ),
    appPasswords: define<AppPasswordRecord>(
      'app_passwords',
      {
        _id: required(Number),
        user_id: required(Number),
        name: required(String),
        digest: required(String),
        protocols: [String],
        read_only: flag,
        path: required(String),
        created_at: required(Date),
        expires_at: { type: Date, default: null },
        last_used_at: { type: Date, default: null },
      },
      (schema) => {
        schema.index({ user_id: 1, digest: 1 }, { unique: true });
        schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 });
      },
    ),
    sessions: define<SessionRecord>(
      'sessions',
      {
        _id: required(String),
        user_id: required(Number),
        address: text,
        created_at: required(Date),
        last_used_at: Date,
        expires_at: required(Date),
      },
      (schema) => {
        schema.index({ user_id: 1, last_used_at: -1, _id: 1 });
        schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 });
      },
    ),
    loginAddresses: define<LoginAddressRecord>(
      'login_addresses',
      { _id: required(String), user_id: required(Number), last_login_at: required(Date) },
      (schema) => {
        schema.index({ user_id: 1 });
        schema.index({ last_login_at: 1 }, { expireAfterSeconds: HALF_A_YEAR_S });
      },
    ),
    loginAttempts: define<LoginAttemptRecord>(
      'login_attempts',
      { _id: required(String), failures: number, expires_at: required(Date) },
      (schema) => {
        schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 });
      },
    ),
    audit: define<AuditRecord>(
      'audit',
      {
        _id: required(String),
        at: required(Date),
        action: required(String),
        user_id: number,
        username: text,
        address: text,
        target: text,
        detail: text,
        count: Number,
        last_at: Date,
        repeat_key: String,
      },
      (schema) => {
        schema.index({ user_id: 1, action: 1, _id: 1 });
        schema.index({ repeat_key: 1 }, { unique: true, sparse: true });
        schema.index({ at: 1 }, { expireAfterSeconds: HALF_A_YEAR_S });
      },
    ),
    permanentTokens: define<PermanentTokenRecord>('permanent_tokens', { _id: required(String), sealed: required(String) }),
    authCounters: define<CounterRecord>('auth_counters', counter),
    storages: define<StorageRecord>(
      'storages',
      {
        _id: required(Number),
        mount_path: required(String),
        order: number,
        driver: required(String),
        cache_expiration: number,
        custom_cache_policies: text,
        status: text,
        addition: text,
        remark: text,
        modified: required(Date),
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
      (schema) => {
        schema.index({ mount_path: 1 }, { unique: true });
      },
    ),
    settings: define<SettingsRecord>('settings', { _id: required(String), revision: number, items: [storedSettingSchema()] }),
    rules: define<RuleRecord>(
      'metas',
      {
        _id: required(Number),
        path: required(String),
        password: text,
        p_sub: flag,
        write: flag,
        w_sub: flag,
        hide: text,
        h_sub: flag,
        readme: text,
        r_sub: flag,
        header: text,
        header_sub: flag,
        read_users: [Number],
        read_users_sub: flag,
        write_users: [Number],
        write_users_sub: flag,
      },
      (schema) => {
        schema.index({ path: 1 }, { unique: true });
      },
    ),
    adminCounters: define<CounterRecord>('admin_counters', counter),
    indexFolders: define<IndexFolderRecord>(
      'search_folders',
      { _id: required(String), path: required(String), depth: required(Number), queued: { type: Number, default: null } },
      (schema) => {
        schema.index({ path: 1 }, { unique: true });
        schema.index({ queued: 1 }, { partialFilterExpression: { queued: { $gt: 0 } } });
      },
    ),
    indexEntries: define<IndexEntryRecord>(
      'search_entries',
      { _id: required(String), folder: required(String), name: required(String), is_dir: flag, size: number, grams: [String] },
      (schema) => {
        schema.index({ grams: 1 });
      },
    ),
    indexState: define<IndexStateRecord>('search_state', {
      _id: required(String),
      revision: number,
      body: text,
      owner: text,
      lease_until: required(Date),
    }),
    entryChanges: define<EntryChangeRecord>(
      'entry_changes',
      { _id: required(Number), replica: required(String), paths: [String], at: required(Date) },
      (schema) => {
        schema.index({ at: 1 }, { expireAfterSeconds: CHANGES_KEPT_S });
      },
    ),
    fsCounters: define<CounterRecord>('fs_counters', counter),
    quotaLedgers: define<QuotaLedgerRecord>('quota_ledgers', {
      _id: required(String),
      base_bytes: number,
      written_bytes: number,
      held_bytes: number,
      counted_at: required(Date),
      claims: { type: Schema.Types.Mixed, default: {} },
    }),
  };
}

function storedSettingSchema(): Schema<StoredSetting> {
  return new Schema<StoredSetting>(
    { key: required(String), value: text, help: text, type: text, options: text, group: number, flag: number, sealed: Boolean },
    { _id: false },
  );
}
