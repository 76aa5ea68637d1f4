import { AppError } from '@wharf/errors';
import { isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import type { DraftSpool } from '../../driver-contract/draft-spool.ts';
import type { Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { isSameVersion } from '../../driver-contract/unchanged.ts';
import { denied, requirePermission } from '../access/permissions.ts';
import { looksLikeCopy } from '../changing/looks-like-copy.ts';
import { callOf, type Operation, type Place, requireCreation, requireWrite } from '../changing/operations/operation.ts';
import { patiently } from '../changing/operations/rights-of-now.ts';
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

/**
 * The right alone to the place of a session, as it is now. Its storage is asked nothing: where it has one connection, this holds it.
 *
 * @throws AppError PERMISSION_DENIED
 */
export async function requireStillBrought(
  operationOf: OperationOf,
  { userId, path, upload }: WriteSession,
  signal: AbortSignal,
): Promise<void> {
  const { snapshot, actor } = await patiently(() => operationOf(userId, signal), signal);
  if (!isWithin(actor.basePath, path)) throw denied();
  if (upload) requireCreation(snapshot, actor, parentPath(path));
  else requirePermission(actor, 'offline_download');
  requireWrite(snapshot, actor, parentPath(path));
  snapshot.rules.requireEntry(actor, path, 'create');
}

/**
 * The published file of a session whose process died right after it gave the file its name; undefined when the file has no name yet. A draft that is
 * gone proves nothing: what has the name must be as the file was announced, and not what had it before.
 *
 * @param sizeBytes of the file, as far as it is known; else 0
 */
export async function publishedAlready(
  { operationOf, spool }: { readonly operationOf: OperationOf; readonly spool: DraftSpool | undefined },
  session: WriteSession,
  signal: AbortSignal,
  sizeBytes = session.sizeBytes,
): Promise<{ operation: Operation; path: VirtualPath; sizeBytes: number; place: Place; entry: Entry } | undefined> {
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
  const there = locate(operation.snapshot, path, located);
  const entry = await findEntry(operation.snapshot, path, there, callOf(operation));
  if (!entry || !isAnnounced(entry, session, sizeBytes, driver) || isReplaced(entry, session)) return undefined;
  return { operation, path, sizeBytes: entry.sizeBytes ?? sizeBytes, place: { driver, path: there.path }, entry };
}

function isAnnounced(entry: Entry, { upload }: WriteSession, sizeBytes: number, driver: StorageDriver): boolean {
  const known = upload !== undefined || sizeBytes > 0 ? sizeBytes : entry.sizeBytes;
  const announced = { name: entry.name, isDirectory: false, sizeBytes: known, modifiedAt: upload?.modifiedAt ?? entry.modifiedAt };
  return looksLikeCopy({ ...announced, ...(upload && { hashes: upload.hashes }) }, entry, driver) !== false;
}

/** A file that was announced with the very date of the former one is told from that by what else its storage tells, if it does. */
export function isReplaced(entry: Entry, { replaced }: WriteSession): boolean {
  if (!replaced || entry.sizeBytes !== replaced.sizeBytes || entry.modifiedAt.getTime() !== replaced.modifiedAt.getTime()) return false;
  return isSameVersion(entry.version, replaced.version) && entry.createdAt?.getTime() === replaced.createdAt?.getTime();
}
