import type { Connection, Model } from 'mongoose';
import { modelOf } from './collection.ts';
import { answeredCalls } from './collections/answered-calls.ts';
import { appPasswords } from './collections/app-passwords.ts';
import { audit } from './collections/audit.ts';
import { adminCounters, authCounters, fsCounters } from './collections/counters.ts';
import { entryChanges } from './collections/entry-changes.ts';
import { indexEntries } from './collections/index-entries.ts';
import { indexFolders } from './collections/index-folders.ts';
import { indexState } from './collections/index-state.ts';
import { loginAddresses } from './collections/login-addresses.ts';
import { loginAttempts } from './collections/login-attempts.ts';
import { permanentTokens } from './collections/permanent-tokens.ts';
import { placeTurns } from './collections/place-turns.ts';
import { quotaLedgers } from './collections/quota-ledgers.ts';
import { rules } from './collections/rules.ts';
import { type SeedRecord, seeds } from './collections/seeds.ts';
import { sessions } from './collections/sessions.ts';
import { settings } from './collections/settings.ts';
import { sshKeys } from './collections/ssh-keys.ts';
import { storages } from './collections/storages.ts';
import { downloadTaskChunks, fsTaskChunks, type TaskChunkRecord } from './collections/task-chunks.ts';
import { downloadTaskCounts, fsTaskCounts, type TaskCountsRecord } from './collections/task-counts.ts';
import { downloadTasks, fsTasks, type TaskRecord } from './collections/tasks.ts';
import { users } from './collections/users.ts';
import { type WriteSessionRecord, writeSessions } from './collections/write-sessions.ts';

/** Most collections of the store. Reading is for all; writing only for the owner that each file names, in its `store/` folder. */
export type Models = Readonly<ReturnType<typeof modelsOf>>;

/** The models of a connection; a second call answers the same ones. */
export function modelsOf(connection: Connection) {
  return {
    users: modelOf(connection, users),
    sshKeys: modelOf(connection, sshKeys),
    appPasswords: modelOf(connection, appPasswords),
    sessions: modelOf(connection, sessions),
    loginAddresses: modelOf(connection, loginAddresses),
    loginAttempts: modelOf(connection, loginAttempts),
    audit: modelOf(connection, audit),
    permanentTokens: modelOf(connection, permanentTokens),
    authCounters: modelOf(connection, authCounters),
    storages: modelOf(connection, storages),
    settings: modelOf(connection, settings),
    rules: modelOf(connection, rules),
    adminCounters: modelOf(connection, adminCounters),
    indexFolders: modelOf(connection, indexFolders),
    indexEntries: modelOf(connection, indexEntries),
    indexState: modelOf(connection, indexState),
    entryChanges: modelOf(connection, entryChanges),
    fsCounters: modelOf(connection, fsCounters),
    quotaLedgers: modelOf(connection, quotaLedgers),
    placeTurns: modelOf(connection, placeTurns),
    answeredCalls: modelOf(connection, answeredCalls),
  };
}

/** The collection of seeding torrents. Written by the downloader. */
export const seedModelOf = (connection: Connection): Model<SeedRecord> => modelOf(connection, seeds);

/** The collection of write sessions. Written by fs. */
export const writeSessionModelOf = (connection: Connection): Model<WriteSessionRecord> => modelOf(connection, writeSessions);

/** The collections of one owner's tasks. */
export interface TaskModels {
  readonly tasks: Model<TaskRecord>;
  readonly chunks: Model<TaskChunkRecord>;
  readonly counts: Model<TaskCountsRecord>;
}

const OWNERS = {
  fs: { tasks: fsTasks, chunks: fsTaskChunks, counts: fsTaskCounts },
  downloader: { tasks: downloadTasks, chunks: downloadTaskChunks, counts: downloadTaskCounts },
} as const;

/** A service that has tasks. */
export type TaskOwner = keyof typeof OWNERS;

/** The task collections of an owner. */
export function taskModelsOf(connection: Connection, owner: TaskOwner): TaskModels {
  const { tasks, chunks, counts } = OWNERS[owner];
  return { tasks: modelOf(connection, tasks), chunks: modelOf(connection, chunks), counts: modelOf(connection, counts) };
}
