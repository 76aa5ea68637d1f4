import type { Model } from 'mongoose';
import { type OnClosed, rulesFromStore, storageFromStore, userFromStore } from './closed-records.ts';
import type { CounterRecord } from './collections/counters.ts';
import type { PermanentTokenRecord } from './collections/permanent-tokens.ts';
import type { RuleRecord } from './collections/rules.ts';
import type { SessionRecord } from './collections/sessions.ts';
import type { SettingsRecord } from './collections/settings.ts';
import type { StorageRecord } from './collections/storages.ts';
import type { UserRecord } from './collections/users.ts';
import type { Models } from './models.ts';

/** The id under which an owner counts the changes of its data. */
export const REVISION = 'revision';

/** The id under which auth counts what changes quotas: how much, over which path, and whose. */
export const QUOTAS = 'quotas';

/** The revision of auth's data; 0 before the first change. */
export const readAuthRevision = (models: Models): Promise<number> => readCounter(models.authCounters, REVISION);

/** The revision of admin's data; 0 before the first change. */
export const readAdminRevision = (models: Models): Promise<number> => readCounter(models.adminCounters, REVISION);

/** The revision of the quotas alone. Raised before the revision of auth's data, so whoever has that finds this. */
export const readQuotaRevision = (models: Models): Promise<number> => readCounter(models.authCounters, QUOTAS);

async function readCounter(counters: Model<CounterRecord>, id: string): Promise<number> {
  return (await counters.findById(id).lean<CounterRecord>())?.value ?? 0;
}

/** Every storage by order, then id. */
export const readStorages = async (models: Models): Promise<StorageRecord[]> =>
  (await models.storages.find().sort({ order: 1, _id: 1 }).lean<StorageRecord[]>()).map(storageFromStore);

/** Every rule by id; those that are closed because of what is stored are the last. */
export const readRules = async (models: Models, onClosed?: OnClosed<RuleRecord>): Promise<RuleRecord[]> =>
  rulesFromStore(await models.rules.find().sort({ _id: 1 }).lean<RuleRecord[]>(), onClosed);

/** The saved settings, or undefined when none was ever saved. */
export const readSettingsRecord = async (models: Models): Promise<SettingsRecord | undefined> =>
  (await models.settings.findById('settings').lean<SettingsRecord>()) ?? undefined;

export const readUser = async (models: Models, id: number): Promise<UserRecord | undefined> =>
  userOr(await models.users.findById(id).lean<UserRecord>());

/** The first user of a role; there is exactly one guest (1) and one admin (2). */
export const readUserByRole = async (models: Models, role: number): Promise<UserRecord | undefined> =>
  userOr(await models.users.findOne({ role }).sort({ _id: 1 }).lean<UserRecord>());

/** The user of exactly this name. */
export const readUserByName = async (models: Models, username: string): Promise<UserRecord | undefined> =>
  userOr(await models.users.findOne({ username }).lean<UserRecord>());

const userOr = (stored: UserRecord | null): UserRecord | undefined => (stored === null ? undefined : userFromStore(stored));

/** Those of the ids that are users. */
export const readUserIds = async (models: Models, ids: readonly number[]): Promise<Set<number>> =>
  new Set((await models.users.find({ _id: { $in: ids } }, { _id: 1 }).lean<{ _id: number }[]>()).map(({ _id }) => _id));

/** A session that has not expired, with its user; undefined when there is none. */
export async function readSession(
  models: Models,
  id: string,
  now: Date,
): Promise<{ userId: number; user: UserRecord | undefined; lastUsedAt: Date | undefined } | undefined> {
  const session = await models.sessions.findOne({ _id: id, expires_at: { $gt: now } }).lean<SessionRecord>();
  if (!session) return undefined;
  return { userId: session.user_id, user: await readUser(models, session.user_id), lastUsedAt: session.last_used_at };
}

/** The sealed permanent token, or undefined before the first start is over. */
export const readPermanentToken = async (models: Models): Promise<string | undefined> =>
  (await models.permanentTokens.findById('permanent').lean<PermanentTokenRecord>())?.sealed;

/** What the files of each user who has a quota may have, in bytes, and below which path they are, by its id. */
export async function readQuotas(models: Models): Promise<ReadonlyMap<number, { readonly bytes: number; readonly basePath: string }>> {
  const users = await models.users.find({ quota_bytes: { $gt: 0 } }, { quota_bytes: 1, base_path: 1 }).lean<UserRecord[]>();
  return new Map(users.map(({ _id, quota_bytes = 0, base_path }) => [_id, { bytes: quota_bytes, basePath: base_path }]));
}
