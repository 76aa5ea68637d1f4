import { AppError, type ErrorCode } from '@wharf/errors';
import { locateIn } from '../snapshot/snapshot.ts';
import { RELEASE_MS } from './open-drafts.ts';
import { openSessionDraft } from './session-draft.ts';
import type { SessionParts } from './session-parts.ts';
import type { WriteSession } from './write-session.ts';

/** Takes away what a session has written, unless it may be another Wharf's, whatever its user may do by now. */
export async function removeDraft({ options, drafts }: SessionParts, session: WriteSession, signal: AbortSignal): Promise<void> {
  await drafts.release(session.id);
  if (!session.hasDraft || session.isPublished) return;
  const { id, sizeBytes, upload } = session;
  // From the spool of another replica, that one takes it: nobody knows the session any more then.
  if (upload?.spool !== undefined) return upload.spool === options.spool?.id ? options.spool.remove({ id, sizeBytes }) : undefined;
  // Its storage takes it away by its age, where nobody goes on with it.
  if (session.isOfBackup) return;
  try {
    const { mount, path } = locateIn(await options.currentSnapshot(), session.path, session.storageId);
    const driver = await mount.driver();
    const draft = await openSessionDraft(options.spool, session, { driver, path, signal }, false).catch((error) => {
      // Of a path that its storage refuses for good nothing was made, or can be taken: a session is not kept for that.
      if (isOneOf(error, REFUSED)) return undefined;
      throw error;
    });
    await draft?.discard();
  } catch (error) {
    // Of a storage that is gone nothing can be taken.
    if (!isOneOf(error, GONE)) throw error;
  }
}

const GONE = ['ENTRY_NOT_FOUND', 'MOUNT_NOT_FOUND', 'RECORD_NOT_FOUND'] as const;
const REFUSED = ['INVALID_ARGUMENT', 'NOT_A_DIRECTORY', 'UNSUPPORTED_OPERATION'] as const;

function isOneOf(error: unknown, codes: readonly ErrorCode[]): boolean {
  return codes.some((code) => AppError.is(error, code));
}

/** Ends a session and gives its room back. */
export async function abortSession(parts: SessionParts, id: string): Promise<void> {
  const { options, store } = parts;
  const session = await store.find(id);
  if (!session) return;
  await removeDraft(parts, session, AbortSignal.timeout(RELEASE_MS));
  await store.remove(id);
  // Of a user who is gone the claim runs out by itself.
  await options.operationOf(session.userId, AbortSignal.timeout(RELEASE_MS)).then(
    ({ snapshot, actor }) => snapshot.quotas.end(actor, id, 0),
    () => undefined,
  );
}
