import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import { type BeforePublish, supports } from '../../driver-contract/storage-driver.ts';
import { holdRoom } from '../changing/operations/claim-room.ts';
import { callerOf, callOf, type Operation } from '../changing/operations/operation.ts';
import { hasContent } from '../changing/same-content.ts';
import type { Outcome } from '../reading/folder-cache.ts';
import { findEntry } from '../reading/get-entry.ts';
import { type Digests, driverHashes, verify } from './digests.ts';
import { removeDraft } from './end-session.ts';
import { freeNames } from './free-names.ts';
import { claimOf } from './open-drafts.ts';
import { expiryFrom, findSession, type SessionParts, stillThere } from './session-parts.ts';
import { locateSession, publishedAlready, requireStillBrought } from './session-place.ts';
import { gone, roomOf, type WriteSession } from './write-session.ts';

/** What a caller says of a file that is complete. */
export interface AnnouncedFile {
  readonly sizeBytes: number;
  readonly digests: Digests;
}

/** Writes the whole file of a session that takes no ranges, and publishes it. */
export async function writeWhole(
  parts: SessionParts,
  id: string,
  { sizeBytes, digests }: AnnouncedFile,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const { options, store } = parts;
  const session = await findSession(store, id);
  if (session.isPublished) throw gone();
  const { operation, located } = await locateSession(options.operationOf, session, signal);
  const driver = await located.mount.driver();
  if (!supports(driver, 'write')) throw new AppError('UNSUPPORTED_OPERATION', 'upload not supported');
  const done = await publishedAlready(options, session, signal, sizeBytes);
  if (done) {
    if (await hasContent(done.place, async () => content, { ...callOf(done.operation), signal }))
      return void (await published(parts, session, done.operation, done));
    // The content is used up by now: the next attempt knows that this one is another file.
    await store.beginPublishing(id, done.path, done.entry);
    throw nameTaken();
  }
  const call = { signal, caller: callerOf(operation) };
  await heldDuring(operation, session, sizeBytes, async () => {
    const beforePublish = stillBrought(parts, session, signal);
    for await (const { path, place } of freeNames(operation, session.path, located)) {
      await store.beginPublishing(id, path);
      const expectedHashes = driverHashes(digests);
      const since = operation.changes.now();
      const entry = await driver
        .write(place.path, content, { ...call, overwrite: false, sizeBytes, expectedHashes, beforePublish })
        .catch(async (error: unknown) => {
          // What has got the name meanwhile is somebody else's, whatever its size.
          const there = AppError.is(error, 'ENTRY_EXISTS') && (await findEntry(operation.snapshot, path, place, call));
          if (!there) throw error;
          await store.beginPublishing(id, path, there);
          throw nameTaken(error);
        });
      return published(parts, session, operation, { path, sizeBytes: entry.sizeBytes ?? sizeBytes, told: { driver, entry, since } });
    }
    throw noName();
  });
}

/** A storage may take hours for what comes, or for its turn: its user may be disabled by then, or the folder closed. */
function stillBrought({ options, store }: SessionParts, session: WriteSession, signal: AbortSignal): BeforePublish {
  const isThere = stillThere(store, session.id);
  return async () => {
    await isThere();
    await requireStillBrought(options.operationOf, session, signal);
  };
}

/** Verifies the draft of a session and publishes it under a free name. */
export async function commit(parts: SessionParts, id: string, file: AnnouncedFile, signal: AbortSignal): Promise<WriteSession> {
  const { options, store, drafts } = parts;
  const session = await findSession(store, id);
  if (session.isPublished) return session;
  if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'the content is missing');
  const done = session.publishingPath && (await publishedAlready(options, session, signal, file.sizeBytes));
  if (done) {
    await removeDraft(parts, session, signal).catch(() => undefined);
    return published(parts, session, done.operation, done);
  }
  // The room is held before the draft is read to be verified.
  await drafts.use(id, async (open, held) => {
    await claimOf(open, held);
    await verify(open.draft, file, signal);
  });
  await drafts.release(id);
  const { operation, located } = await locateSession(options.operationOf, session, signal);
  const driver = await located.mount.driver();
  if (!supports(driver, 'openDraft')) throw gone();
  const caller = callerOf(operation);
  return heldDuring(operation, session, file.sizeBytes, async () => {
    for await (const { path, place } of freeNames(operation, session.path, located)) {
      const draft = await driver.openDraft(place.path, id, { create: false, signal, caller });
      await store.beginPublishing(id, path);
      const since = operation.changes.now();
      try {
        const entry = await draft.publish({ overwrite: false, caller, beforePublish: stillBrought(parts, session, signal) });
        return await published(parts, session, operation, {
          path,
          sizeBytes: entry.sizeBytes ?? file.sizeBytes,
          told: { driver, entry, since },
        });
      } catch (error) {
        await draft.close();
        // Somebody took the name in between.
        if (!AppError.is(error, 'ENTRY_EXISTS')) throw error;
      }
    }
    throw noName();
  });
}

/** A file that has its name. */
export interface PublishedFile {
  readonly path: VirtualPath;
  readonly sizeBytes: number;
  /** What the storage answered. Absent where that was lost with its process. */
  readonly told?: Omit<Outcome, 'path'> | undefined;
}

/** Notes that the file has its name: the change is told, first of all, since who asks once more only finds it noted; and the claim ends. */
export async function published(
  { store, options }: Pick<SessionParts, 'store' | 'options'>,
  session: WriteSession,
  operation: Operation,
  { path, sizeBytes, told }: PublishedFile,
): Promise<WriteSession> {
  if (told) operation.changes.entryBecame({ path, ...told });
  else operation.changes.entryChanged(path);
  // As long as any other from now on, however long it took: the oldest are those that finished first.
  const expiresAt = expiryFrom(options.clock);
  await store.markPublished(session, sizeBytes, expiresAt);
  await operation.snapshot.quotas.end(operation.actor, session.id, sizeBytes);
  return { ...session, publishingPath: path, isPublished: true, sizeBytes, expiresAt };
}

/**
 * Runs work that needs the room of a session's file. The room is held while it runs and for a while afterwards. Publishing the file ends
 * the claim.
 * @throws AppError QUOTA_EXCEEDED
 */
export async function heldDuring(
  operation: Operation,
  session: WriteSession,
  sizeBytes: number,
  run: () => Promise<WriteSession>,
): Promise<WriteSession> {
  const claim = await holdRoom(operation, roomOf(session, sizeBytes));
  try {
    return await run();
  } finally {
    claim.letGo();
  }
}

/** Of a content that is used up: the next attempt finds the name taken, and gives another one. */
function nameTaken(cause?: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'another file has got the name meanwhile; try again', { cause });
}

function noName(): AppError {
  return new AppError('ENTRY_EXISTS', 'file exists');
}
