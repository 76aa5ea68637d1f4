import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { DraftContent, DraftSpool } from '../../driver-contract/draft-spool.ts';
import { type Draft, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { gone, type WriteSession } from './write-session.ts';

/** The draft of a session. One without `publish` lies in the spool: the file is made by writing all of it to its storage. */
export type SessionDraft = DraftContent & Partial<Pick<Draft, 'publish'>>;

/** Where a session's file will be. */
export interface DraftPlace {
  readonly driver: StorageDriver;
  readonly path: MountPath;
  readonly signal: AbortSignal;
}

/**
 * Makes or opens the draft of a session, in its storage or in the spool.
 *
 * @param spool of this replica. @throws AppError RECORD_NOT_FOUND: its storage has no drafts (any more) | STORAGE_UNAVAILABLE: it lies in the spool of
 * another replica | ENTRY_NOT_FOUND; to make one: QUOTA_EXCEEDED and what drivers throw
 */
export async function openSessionDraft(
  spool: DraftSpool | undefined,
  session: WriteSession,
  { driver, path, signal }: DraftPlace,
  create: boolean,
): Promise<SessionDraft> {
  const { id, sizeBytes, upload, userId } = session;
  if (upload?.spool !== undefined) {
    if (spool?.id !== upload.spool)
      throw new AppError('STORAGE_UNAVAILABLE', 'this upload is kept by another replica of fs, which does not share its data folder');
    return create ? spool.create({ id, sizeBytes }) : spool.open({ id, sizeBytes });
  }
  if (!supports(driver, 'openDraft')) throw gone();
  return driver.openDraft(path, id, { create, signal, caller: `user ${userId}`, ...(create && { sizeBytes }) });
}
