export { accountReads } from './account-reads.ts';
export { duplicatesOf, isDuplicateKey } from './duplicate-key.ts';
export { type Models, modelsOf } from './models.ts';
export { raiseCounter, reserveCounter } from './raise-counter.ts';
export {
  REVISION,
  readAdminRevision,
  readAuthRevision,
  readPermanentToken,
  readQuotas,
  readRules,
  readSession,
  readSettingsRecord,
  readStorages,
  readUser,
  readUserByRole,
  readUserIds,
} from './reads.ts';
export type {
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
export { type SeedRecord, seedModelOf } from './seed-record.ts';
export { SETTING_ALIASES, SETTING_CATALOGUE } from './setting-catalogue.ts';
export { readSettings, type SettingDefinition, type Settings, settingsFrom } from './settings.ts';
export { accountsChanged, configurationChanged, entryChanged } from './subjects.ts';
export { type TaskChunkRecord, type TaskModels, type TaskOwner, type TaskRecord, taskModelsOf } from './task-records.ts';
export { taskProgressed, taskWake } from './task-subjects.ts';
export { type WriteSessionRecord, writeSessionModelOf } from './write-session-record.ts';
