export { accountReads } from './account-reads.ts';
export { closedRule, storageFromStore, userFromStore } from './closed-records.ts';
export type { AppPasswordRecord } from './collections/app-passwords.ts';
export type { AuditRecord } from './collections/audit.ts';
export type { CounterRecord } from './collections/counters.ts';
export type { EntryChangeRecord } from './collections/entry-changes.ts';
export type { IndexEntryRecord } from './collections/index-entries.ts';
export type { IndexFolderRecord } from './collections/index-folders.ts';
export type { IndexStateRecord } from './collections/index-state.ts';
export type { LoginAddressRecord } from './collections/login-addresses.ts';
export type { LoginAttemptRecord } from './collections/login-attempts.ts';
export type { PermanentTokenRecord } from './collections/permanent-tokens.ts';
export type { QuotaLedgerRecord } from './collections/quota-ledgers.ts';
export type { RuleRecord } from './collections/rules.ts';
export type { SeedRecord } from './collections/seeds.ts';
export type { SessionRecord } from './collections/sessions.ts';
export type { SettingsRecord, StoredSetting } from './collections/settings.ts';
export type { SshKeyRecord } from './collections/ssh-keys.ts';
export { MAX_STORAGE_TEXT_BYTES, type StorageRecord } from './collections/storages.ts';
export type { TaskChunkRecord } from './collections/task-chunks.ts';
export type { TaskCountsRecord } from './collections/task-counts.ts';
export { type TaskRecord, taskFields } from './collections/tasks.ts';
export type { UserRecord } from './collections/users.ts';
export type { ReplacedFileRecord, UploadRecord, WriteSessionRecord } from './collections/write-sessions.ts';
export { duplicatesOf, isDuplicateKey } from './duplicate-key.ts';
export { dropFormerIndexes, makeIndexes } from './make-indexes.ts';
export { type Models, modelsOf, seedModelOf, type TaskModels, type TaskOwner, taskModelsOf, writeSessionModelOf } from './models.ts';
export { raiseCounter, reserveCounter } from './raise-counter.ts';
export { readRecord } from './read-record.ts';
export {
  QUOTAS,
  REVISION,
  readAdminRevision,
  readAuthRevision,
  readPermanentToken,
  readQuotaRevision,
  readQuotas,
  readRules,
  readSession,
  readSettingsRecord,
  readStorages,
  readUser,
  readUserByRole,
  readUserIds,
} from './reads.ts';
export { removeInSteps } from './remove-in-steps.ts';
export { MAX_SEED_MINUTES, SETTING_ALIASES, SETTING_CATALOGUE, type SettingDefinition } from './setting-catalogue.ts';
export { itemsOf, openItems, readSettings, type Settings, settingsFrom } from './settings.ts';
export { accountsChanged, configurationChanged, entryChanged, MAX_CHANGED_PATHS } from './subjects.ts';
export { MAX_TOLD_TASKS, MAX_WAKE_IDS, type ShownTask, taskProgressed, taskWake } from './task-subjects.ts';
