import type { DraftSpool } from '../../driver-contract/draft-spool.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { createOpenDrafts, type OpenDrafts } from './open-drafts.ts';
import type { OperationOf } from './session-place.ts';
import { gone, IDLE_MS, type WriteSession, type WriteSessionStore } from './write-session.ts';

export interface WriteSessionsOptions {
  readonly store: WriteSessionStore;
  readonly operationOf: OperationOf;
  readonly currentSnapshot: () => Promise<Snapshot>;
  readonly clock: () => number;
  /** Of this replica's data plane; empty: any. */
  readonly dataUrl: string;
  /** A user's own upload goes after so long without use, in milliseconds. Until then its room is held. */
  readonly uploadIdleMs: number;
  /** For parts of files whose storages take whole ones only. Undefined: this replica has none. */
  readonly spool: DraftSpool | undefined;
}

/** What the steps of a session work with. */
export interface SessionParts {
  readonly options: WriteSessionsOptions;
  readonly store: WriteSessionStore;
  readonly drafts: OpenDrafts;
}

/** When a session goes that is used now. */
export function expiryFrom(clock: () => number): Date {
  return new Date(clock() + IDLE_MS);
}

/** The same of a user's own upload. */
export function uploadExpiry({ options }: SessionParts): Date {
  return new Date(options.clock() + options.uploadIdleMs);
}

/** Drafts that are open here and what else the steps of sessions work with, once for all of a process. */
export function createSessionParts(options: WriteSessionsOptions): SessionParts {
  const { store, operationOf, uploadIdleMs, spool } = options;
  return { options, store, drafts: createOpenDrafts({ operationOf, uploadIdleMs, spool, find: (id) => findSession(store, id) }) };
}

/** @throws AppError RECORD_NOT_FOUND */
export async function findSession(store: WriteSessionStore, id: string): Promise<WriteSession> {
  const session = await store.find(id);
  if (!session) throw gone();
  return session;
}

/** Whoever took over may have ended it while its content was stored, or verified and made durable. @throws AppError RECORD_NOT_FOUND */
export function stillThere(store: WriteSessionStore, id: string): () => Promise<void> {
  return async () => void (await findSession(store, id));
}
