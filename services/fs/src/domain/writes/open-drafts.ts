import { AppError } from '@wharf/errors';
import type { DraftSpool } from '../../driver-contract/draft-spool.ts';
import { holdRoom } from '../changing/operations/claim-room.ts';
import type { Operation } from '../changing/operations/operation.ts';
import type { HeldClaim } from '../quota/quota.ts';
import { openSessionDraft, type SessionDraft } from './session-draft.ts';
import { locateSession, type OperationOf } from './session-place.ts';
import { gone, roomOf, type WriteSession } from './write-session.ts';

/** A draft that nobody writes to is let go of, in milliseconds; the next write opens it again. */
export const RELEASE_MS = 30_000;

const NEVER = new AbortController().signal;

export interface OpenDraft {
  readonly session: WriteSession;
  readonly operation: Operation;
  readonly draft: SessionDraft;
  /** How long a user's own upload lives without use, in milliseconds. */
  readonly uploadIdleMs: number;
}

export interface InUse {
  readonly opening: Promise<OpenDraft>;
  /** Undefined until there is something to write. */
  claiming: Promise<HeldClaim> | undefined;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

/** The drafts of the sessions in use, each open once. */
export interface OpenDrafts {
  /** Runs with the draft of a session, which stays open for a while. @throws AppError RECORD_NOT_FOUND | FAILED_PRECONDITION: it has no draft */
  use<Result>(id: string, run: (open: OpenDraft, held: InUse) => Promise<Result>): Promise<Result>;
  /** Lets go of a draft that is open here. */
  release(id: string): Promise<void>;
  releaseAll(): Promise<void>;
}

export interface OpenDraftsOptions {
  readonly operationOf: OperationOf;
  readonly uploadIdleMs: number;
  readonly spool: DraftSpool | undefined;
  /** @throws AppError RECORD_NOT_FOUND */
  find(id: string): Promise<WriteSession>;
}

export function createOpenDrafts({ operationOf, uploadIdleMs, spool, find }: OpenDraftsOptions): OpenDrafts {
  const inUse = new Map<string, InUse>();
  const openDraft = async (session: WriteSession, signal: AbortSignal): Promise<OpenDraft> => {
    const { operation, located } = await locateSession(operationOf, session, signal);
    const driver = await located.mount.driver();
    try {
      const draft = await openSessionDraft(spool, session, { driver, path: located.path, signal }, false);
      return { session, operation, draft, uploadIdleMs };
    } catch (error) {
      throw AppError.is(error, 'ENTRY_NOT_FOUND') ? gone() : error;
    }
  };
  const release = async (id: string): Promise<void> => {
    const known = inUse.get(id);
    inUse.delete(id);
    clearTimeout(known?.timer);
    await known?.claiming?.then((claim) => claim.letGo()).catch(() => undefined);
    await known?.opening.then(({ draft }) => draft.close()).catch(() => undefined);
  };
  const use = async <Result>(id: string, run: (open: OpenDraft, held: InUse) => Promise<Result>): Promise<Result> => {
    let entry = inUse.get(id);
    if (!entry) {
      const opening = find(id).then((session) => {
        if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'this session takes no ranges');
        if (session.isPublished) throw gone();
        return openDraft(session, AbortSignal.timeout(RELEASE_MS));
      });
      entry = { opening, claiming: undefined, users: 0, timer: undefined };
      inUse.set(id, entry);
      const begun = entry;
      opening.catch(() => {
        // Another one may have been opened since.
        if (inUse.get(id) === begun) inUse.delete(id);
      });
    }
    const held = entry;
    clearTimeout(held.timer);
    held.users += 1;
    try {
      return await run(await held.opening, held);
    } finally {
      held.users -= 1;
      if (held.users === 0 && inUse.get(id) === held) {
        held.timer = setTimeout(() => void release(id), RELEASE_MS);
        held.timer.unref();
      }
    }
  };
  return {
    use,
    release,
    async releaseAll() {
      await Promise.all([...inUse.keys()].map(release));
    },
  };
}

/** The claim of a session that is in use here, over the announced size or what is there, whichever is more. @throws AppError QUOTA_EXCEEDED */
export async function claimOf({ session, operation, draft, uploadIdleMs }: OpenDraft, held: InUse): Promise<HeldClaim> {
  // For all who write to the session, as long as one does: no signal of one of them.
  held.claiming ??= draft
    .sizeBytes()
    .then((bytes) => holdRoom(operation, roomOf(session, Math.max(session.sizeBytes, bytes), uploadIdleMs), NEVER));
  try {
    return await held.claiming;
  } catch (error) {
    held.claiming = undefined;
    throw error;
  }
}

/** Makes durable what was written to a draft. Where that fails nobody knows whose bytes are lost: all who write there have to do so again. */
export async function syncDraft(drafts: OpenDrafts, { session, draft }: OpenDraft): Promise<void> {
  try {
    await draft.sync();
  } catch (error) {
    if (!AppError.is(error, 'DEADLINE_EXCEEDED')) await drafts.release(session.id);
    throw error;
  }
}
