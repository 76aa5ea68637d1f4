import { AppError } from '@wharf/errors';
import { type MountPath, parseVirtualPath } from '@wharf/paths';
import { requireKeepable } from '../../driver-contract/declared-names.ts';
import { isDraftId } from '../../driver-contract/draft.ts';
import { type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { checkUnreserved } from '../../driver-contract/temp-names.ts';
import { holdRoom } from '../changing/operations/claim-room.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { abortSession, removeDraft } from './end-session.ts';
import { RELEASE_MS } from './open-drafts.ts';
import { openSessionDraft } from './session-draft.ts';
import { expiryFrom, type SessionParts } from './session-parts.ts';
import { requireFile } from './session-place.ts';
import { gone, type OpenedSession, roomOf, type WriteSession } from './write-session.ts';

/** A file that is about to come. */
export interface NewFile {
  readonly path: string;
  /** 0: not known. */
  readonly sizeBytes: number;
  /** Whether it will be held to digests. */
  readonly hasDigests: boolean;
}

/** Makes a session: its row, its claim and, where the storage takes ranges, its draft. @throws AppError as WriteSessions.open() */
export async function openSession(
  parts: SessionParts,
  id: string,
  userId: number,
  { path, sizeBytes, hasDigests }: NewFile,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const { options } = parts;
  if (!isDraftId(id)) throw new AppError('INVALID_ARGUMENT', 'the id of a write session has 32 hexadecimal digits');
  const operation = await options.operationOf(userId, signal);
  const wanted = parseVirtualPath(path);
  const located = await requireFile(operation, wanted);
  const driver = await located.mount.driver();
  const hasDraft = takesRanges(driver, hasDigests);
  const session: WriteSession = {
    id,
    userId,
    path: wanted,
    storageId: located.mount.storage._id,
    hasDraft,
    publishingPath: undefined,
    isPublished: false,
    sizeBytes,
    dataUrl: options.dataUrl,
    expiresAt: expiryFrom(options.clock),
  };
  return keepSession(parts, session, { operation, path: located.path, driver, signal });
}

/** Whether ranges may come in any order, and what is there can be held to digests where that is asked for. */
function takesRanges(driver: StorageDriver, hasDigests: boolean): boolean {
  const { drafts } = driver.traits;
  return supports(driver, 'openDraft') && drafts?.order === 'any' && (drafts.readsBack || !hasDigests);
}

/** Where a session that is about to begin goes. */
export interface NewPlace {
  readonly operation: Operation;
  readonly path: MountPath;
  readonly driver: StorageDriver;
  readonly signal: AbortSignal;
  /** Asked once the row is there, so that of several who come at a time none is overlooked, and before anything takes room. */
  readonly admit?: () => Promise<void>;
}

/**
 * Keeps a new session: its row, its claim and, where the storage takes ranges, its draft.
 * @throws AppError PERMISSION_DENIED | INVALID_ARGUMENT: the storage keeps no such path | QUOTA_EXCEEDED; what drivers and `admit` throw
 */
export async function keepSession(
  parts: SessionParts,
  session: WriteSession,
  { operation, path, driver, signal, admit }: NewPlace,
): Promise<OpenedSession> {
  const { options, store } = parts;
  const { id, sizeBytes } = session;
  checkUnreserved(path);
  requireKeepable(driver.traits, path);
  await requireSpace(driver, sizeBytes, signal);
  signal.throwIfAborted();
  // The row first: a draft without one would be found by nobody.
  await store.insert(session);
  const admitted = async () => {
    await admit?.();
    return holdRoom(operation, roomOf(session, sizeBytes, options.uploadIdleMs), signal);
  };
  const claim = await admitted().catch(async (error) => {
    await store.remove(id);
    throw error;
  });
  let partBytes = 1;
  try {
    if (session.hasDraft) {
      // Not the caller's signal: when the caller dies, whoever takes over finds the draft by its id.
      const draft = await openSessionDraft(options.spool, session, { driver, path, signal: AbortSignal.timeout(RELEASE_MS) }, true);
      partBytes = draft.partBytes;
      await draft.close();
      // Whoever took over has ended it meanwhile.
      if (!(await store.find(id))) {
        await removeDraft(parts, session, AbortSignal.timeout(RELEASE_MS));
        throw gone();
      }
    }
  } catch (error) {
    // A storage that hangs may still make the draft later. The row stays, and the draft is found by it.
    if (!AppError.is(error, 'DEADLINE_EXCEEDED') && !AppError.is(error, 'CANCELLED')) await abortSession(parts, id).catch(() => undefined);
    await claim.release();
    throw error;
  }
  claim.letGo();
  return { ...session, partBytes };
}

/** Asks a storage that can tell for the room of a file of known size. @throws AppError QUOTA_EXCEEDED */
async function requireSpace(driver: StorageDriver, sizeBytes: number, signal: AbortSignal): Promise<void> {
  if (sizeBytes === 0 || !supports(driver, 'space')) return;
  const space = await driver.space({ signal }).catch(() => undefined);
  if (space && sizeBytes > space.freeBytes)
    throw new AppError('QUOTA_EXCEEDED', `the storage has no room for the ${sizeBytes} bytes of this file`);
}
