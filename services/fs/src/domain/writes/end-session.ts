import { AppError } from '@wharf/errors';
import { supports } from '../../driver-contract/storage-driver.ts';
import { locateIn } from '../snapshot/snapshot.ts';
import { RELEASE_MS } from './open-drafts.ts';
import type { SessionParts } from './session-parts.ts';
import type { WriteSession } from './write-session.ts';

/** Takes away what a session has written, whatever its user may do by now. */
export async function removeDraft({ options, drafts }: SessionParts, session: WriteSession, signal: AbortSignal): Promise<void> {
  await drafts.release(session.id);
  if (!session.hasDraft || session.isPublished) return;
  try {
    const { mount, path } = locateIn(await options.currentSnapshot(), session.path, session.storageId);
    const driver = await mount.driver();
    if (!supports(driver, 'openDraft')) return;
    const draft = await driver.openDraft(path, session.id, { create: false, signal });
    await draft.discard();
  } catch (error) {
    // Of a storage that is gone nothing can be taken.
    if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'MOUNT_NOT_FOUND')) throw error;
  }
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
