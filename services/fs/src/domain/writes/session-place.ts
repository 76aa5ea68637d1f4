import { AppError } from '@wharf/errors';
import { isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import type { DraftSpool } from '../../driver-contract/draft-spool.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { locateUpload } from '../changing/upload.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { locate } from '../snapshot/snapshot.ts';
import { checkTarget } from './check-target.ts';
import { openSessionDraft } from './session-draft.ts';
import type { WriteSession } from './write-session.ts';

/** The frame of what is done for a user, with the rights of now. */
export type OperationOf = (userId: number, signal: AbortSignal) => Promise<Operation>;

/** Storages that share a mount path take turns; so many are tried. */
const MAX_TURNS = 1_000;

/** What must hold for a file or a folder that is brought to `path`. */
export async function requireEntry(operation: Operation, path: VirtualPath): Promise<Located<Mount>> {
  const { snapshot, actor } = operation;
  if (!isWithin(actor.basePath, path) || path === actor.basePath) throw new AppError('PERMISSION_DENIED', 'permission denied');
  const located = await checkTarget(operation, parentPath(path));
  snapshot.rules.requireEntry(actor, path, 'create');
  return locate(operation.snapshot, path, located);
}

/** The same for a file. */
export async function requireFile(operation: Operation, path: VirtualPath): Promise<Located<Mount>> {
  const located = await requireEntry(operation, path);
  if (operation.snapshot.table.isProtected(path)) throw new AppError('IS_A_DIRECTORY', 'a storage is mounted there');
  return located;
}

/** The place of a session in the storage that it was opened in, with the rights its user has now. @throws AppError as open() */
export async function locateSession(
  operationOf: OperationOf,
  session: WriteSession,
  signal: AbortSignal,
): Promise<{ operation: Operation; located: Located<Mount> }> {
  const operation = await operationOf(session.userId, signal);
  if (session.upload) return { operation, located: await locateUpload(operation, session.path, session.storageId) };
  await requireFile(operation, session.path);
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const located = locate(operation.snapshot, session.path);
    if (located.mount.storage._id === session.storageId) return { operation, located };
  }
  throw new AppError('STORAGE_UNAVAILABLE', 'the storage that the file was brought to is gone');
}

/** The published file of a session whose process died right after it gave the file its name; undefined when the file has no name yet. */
export async function publishedAlready(
  { operationOf, spool }: { readonly operationOf: OperationOf; readonly spool: DraftSpool | undefined },
  session: WriteSession,
  signal: AbortSignal,
): Promise<{ operation: Operation; path: VirtualPath; sizeBytes: number } | undefined> {
  const path = session.publishingPath;
  if (!path) return undefined;
  const { operation, located } = await locateSession(operationOf, session, signal);
  const driver = await located.mount.driver();
  if (session.hasDraft) {
    try {
      const draft = await openSessionDraft(spool, session, { driver, path: located.path, signal }, false);
      await draft.close();
      return undefined;
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'RECORD_NOT_FOUND')) throw error;
    }
  }
  const entry = await findEntry(operation.snapshot, path, locate(operation.snapshot, path, located), signal);
  return entry && !entry.isDirectory ? { operation, path, sizeBytes: entry.sizeBytes ?? session.sizeBytes } : undefined;
}
