import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { isOwnRefusal, ownRefusal } from '../access/own-refusal.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { locateUpload } from '../changing/upload.ts';
import { resolvePath } from '../snapshot/snapshot.ts';
import { abortSession } from '../writes/end-session.ts';
import type { SessionParts } from '../writes/session-parts.ts';
import { appendStream, type BodyCheck } from './append-stream.ts';
import { type BegunUpload, beginNewUpload, type MostUploads, type NewUpload } from './begin-new-upload.ts';
import { concatenate } from './concatenate.ts';
import { endUploadsOfOthers } from './end-of-others.ts';
import { publishUpload } from './publish-upload.ts';
import { createRunningHashes } from './running-hashes.ts';
import { createUploadClaims, noUpload } from './upload-claims.ts';
import { isComplete, type UploadSession, type UploadStore } from './upload-session.ts';
import { type UploadParts, writePart } from './write-part.ts';

/** Uploads of users that come in parts or as a stream that is cut and goes on, through any replica. Errors: those of beginUpload() and of drivers, and
 * RECORD_NOT_FOUND: there is no such upload | PERMISSION_DENIED also: it is somebody else's. */
export interface Uploads {
  /**
   * Begins an upload, or finds the caller's unfinished one of the same path, size and hashes, also one that is begun at the same moment by whatever
   * replica. Where the storage has that file already, with such a hash, and the caller may read it, the upload is published at once.
   * @throws AppError UNSUPPORTED_OPERATION: the storage takes whole files only, and there is no spool | QUOTA_EXCEEDED: also for too many unfinished ones, or
   * a spool that is full | OVERLOADED: it is being begun elsewhere, and takes long
   */
  begin(operation: Operation, asked: NewUpload): Promise<BegunUpload>;
  find(operation: Operation, id: string): Promise<UploadSession>;
  /** The caller's newest unfinished one. The guest, who is many, has none. */
  findByPath(operation: Operation, path: string, sizeBytes: number): Promise<UploadSession>;
  /** As writePart() has it; what may not go on is taken away. */
  writePart(operation: Operation, session: UploadSession, index: number, content: AsyncIterable<Uint8Array>): Promise<UploadSession>;
  /** As appendStream() has it; whoever writes to the stream elsewhere is ended. */
  append(
    operation: Operation,
    session: UploadSession,
    offsetBytes: number,
    content: AsyncIterable<Uint8Array>,
    check?: BodyCheck,
  ): Promise<UploadSession>;
  /** Makes one file of partial uploads of the caller, and gives it its name, as concatenate() has it. */
  concatenate(
    operation: Operation,
    partials: readonly UploadSession[],
    asked: Omit<NewUpload, 'sizeBytes' | 'kind'>,
  ): Promise<UploadSession>;
  /**
   * Gives the file its name, also when the client is gone meanwhile. A second call waits for the first, and answers the same. What is refused for good is taken away.
   *
   * @param password of the rule that guards what is replaced; empty when the client sends none. @throws AppError INVALID_ARGUMENT: parts are missing
   */
  complete(operation: Operation, session: UploadSession, password: string): Promise<UploadSession>;
  /** Takes an upload away; one that is not there is success. A file that was published stays. */
  abort(id: string): Promise<void>;
  /** The same of an unfinished one of whomever. @throws AppError RECORD_NOT_FOUND */
  end(id: string): Promise<void>;
  /** Unfinished ones, the oldest first. @param userId undefined: of everybody */
  list(userId: number | undefined, page: { offset: number; limit: number }): Promise<{ sessions: UploadSession[]; total: number }>;
  /** Ends the unfinished ones of users who may use nothing any more. What cannot be taken away is tried again with the next call. @param isActive asked once for each user */
  endOfOthers(isActive: (userId: number) => Promise<boolean>): Promise<void>;
  /** Waits a moment for those who write here and whose clients are gone: what came of their bodies is kept. Who still gives a file its name is ended. */
  close(): Promise<void>;
}

/** How long close() waits, in milliseconds. */
const CLOSE_MS = 2_000;

export interface UploadsOptions {
  readonly parts: SessionParts;
  readonly store: UploadStore;
  readonly clock: () => number;
  readonly most: MostUploads;
}

export function createUploads({ parts, store, clock, most }: UploadsOptions): Uploads {
  const running = createRunningHashes();
  const claims = createUploadClaims({ store, clock });
  const upload: UploadParts = { parts, store, claims, running };
  const completing = new Map<string, Promise<UploadSession>>();

  const { abort, isEnding } = createAborts(parts, running);
  /** Work that is refused for good leaves nothing. */
  const orNothing = async <Result>(session: UploadSession, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await run();
    } catch (error) {
      if (isForGood(error, session)) await abort(session.id).catch(() => undefined);
      throw error;
    }
  };
  const requireAllowed = (operation: Operation, { path, storageId }: UploadSession) => locateUpload(operation, path, storageId);
  const stopping = new AbortController();
  /** Goes on when its client is gone: copying or reading a big file takes longer than a proxy waits, and would begin anew each time. */
  const publish = (session: UploadSession, operation: Operation, password: string): Promise<UploadSession> => {
    const lasting = { ...operation, signal: stopping.signal };
    return claims.holdEnd(session, (held) =>
      publishUpload(parts, running, lasting, held, password).finally(() => running.forget(session.id)),
    );
  };

  const complete: Uploads['complete'] = async (operation, session, password) => {
    if (session.isPublished) return session;
    if (!isComplete(session)) throw new AppError('INVALID_ARGUMENT', 'parts of the upload are missing');
    const known = completing.get(session.id);
    if (known) return known;
    const ending = orNothing(session, () => publish(session, operation, password)).catch(async (error) => {
      // Somebody else has come to its end first.
      const now = await store.find(session.id);
      if (now?.isPublished) return now;
      throw error;
    });
    completing.set(session.id, ending);
    try {
      return await ending;
    } finally {
      completing.delete(session.id);
    }
  };

  return {
    begin: (operation, asked) => beginNewUpload(upload, most, operation, asked),
    async find({ actor }, id) {
      const session = await store.find(id);
      if (!session) throw noUpload();
      if (session.userId !== actor.id) throw ownRefusal('PERMISSION_DENIED', 'this upload is somebody else’s');
      return session;
    },
    async findByPath({ actor }, path, sizeBytes) {
      const [session] = actor.role === ROLE.guest ? [] : await store.findSame(actor.id, { path: resolvePath(actor, path), sizeBytes });
      if (!session) throw noUpload();
      return session;
    },
    writePart: (operation, session, index, content) =>
      orNothing(session, async () => {
        await requireAllowed(operation, session);
        return writePart(upload, index, { operation, session, content });
      }),
    append: (operation, session, offsetBytes, content, check) =>
      orNothing(session, async () => {
        await requireAllowed(operation, session);
        return appendStream(upload, offsetBytes, { operation, session, content }, check);
      }),
    concatenate: (operation, partials, asked) =>
      concatenate(upload, operation, partials, asked.path, {
        begin: async (id, sizeBytes) =>
          (await beginNewUpload(upload, most, operation, { ...asked, id, sizeBytes, kind: 'stream' })).session,
        complete: (session) => complete(operation, session, asked.password),
        abort,
        isEnding,
      }),
    complete,
    abort,
    async end(id) {
      const session = await store.find(id);
      if (!session || session.isPublished) throw noUpload();
      await abort(id);
    },
    async list(userId, page) {
      const [sessions, total] = await Promise.all([store.list(userId, page), store.count(userId)]);
      return { sessions, total };
    },
    endOfOthers: (isActive) => endUploadsOfOthers(store, isActive, abort),
    async close() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MS);
      await Promise.race([claims.ended(), late]);
      clearTimeout(timer);
      stopping.abort(new AppError('CANCELLED', 'this replica ends'));
    },
  };
}

/** Takes uploads away, and knows which ones are being taken away. */
function createAborts(parts: SessionParts, running: ReturnType<typeof createRunningHashes>) {
  const ending = new Set<string>();
  return {
    isEnding: (id: string) => ending.has(id),
    async abort(id: string) {
      running.forget(id);
      ending.add(id);
      try {
        await abortSession(parts, id);
      } finally {
        ending.delete(id);
      }
    },
  };
}

/**
 * Whether the same upload would never get its name: we refuse it, it is not there any more, or it was to replace nothing and there is something. What a
 * storage or the mounts say may be over in a moment, as a full disk, or a storage that is switched off: the upload waits for that until its idle time.
 */
function isForGood(error: unknown, { upload }: UploadSession): boolean {
  return isOwnRefusal(error) || AppError.is(error, 'RECORD_NOT_FOUND') || (AppError.is(error, 'ENTRY_EXISTS') && !upload.overwrite);
}
