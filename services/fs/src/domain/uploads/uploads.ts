import { randomBytes } from 'node:crypto';
import { AppError, ERROR_CODES } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { type Entry, type HashName, supports } from '../../driver-contract/storage-driver.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { beginUpload, locateUpload, type UploadRequest, uploadDriver } from '../changing/upload.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { resolvePath } from '../snapshot/snapshot.ts';
import { abortSession } from '../writes/end-session.ts';
import { keepSession } from '../writes/open-session.ts';
import { type SessionParts, uploadExpiry } from '../writes/session-parts.ts';
import type { UploadState } from '../writes/write-session.ts';
import { appendStream, type BodyCheck } from './append-stream.ts';
import { concatenate } from './concatenate.ts';
import { publishUpload } from './publish-upload.ts';
import { createRunningHashes } from './running-hashes.ts';
import { createUploadClaims, noUpload } from './upload-claims.ts';
import { chunkSizeFor, isComplete, MAX_PARTS, onGrid, type UploadSession, type UploadStore } from './upload-session.ts';
import { type UploadParts, writePart } from './write-part.ts';

/** Unfinished uploads of one user, and of all. */
const MAX_OF_USER = 1_000;
const MAX_OF_ALL = 20_000;
const MEGABYTE = 1024 * 1024;
const DEFAULT_CHUNK_MB = 10;
/** A claim on the end of an upload is looked after so often, in milliseconds: reading what is to be verified may take minutes. */
const KEEP_MS = 2_000;

/** What a client says of an upload that it begins. */
export interface NewUpload extends Omit<UploadRequest, 'sizeBytes' | 'password'> {
  /** 32 hexadecimal digits; made at random where there is none. */
  readonly id?: string;
  readonly sizeBytes: number;
  readonly password: string;
  readonly kind: UploadState['kind'];
  /** Of each part; 0: no wish. */
  readonly wishedChunkBytes?: number;
  readonly isPartial?: boolean;
  readonly metadata?: string;
  readonly userName: string;
}

export interface BegunUpload {
  readonly session: UploadSession;
  /** It was begun before. */
  readonly isResumed: boolean;
}

/** Uploads of users that come in parts or as a stream that is cut and goes on, through any replica. Errors: those of beginUpload() and of drivers, and
 * RECORD_NOT_FOUND: there is no such upload | PERMISSION_DENIED also: it is somebody else's. */
export interface Uploads {
  /**
   * Begins an upload, or finds the caller's unfinished one of the same path, size and hashes. Where the storage has that file already, with such a
   * hash, and the caller may read it, the upload is published at once.
   * @throws AppError UNSUPPORTED_OPERATION: the storage takes whole files only | QUOTA_EXCEEDED: also for too many unfinished ones
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
  /** Gives the file its name. @param password of the rule that guards what is replaced; empty when the client sends none. A second call answers the same. What is refused for good is taken away. @throws AppError INVALID_ARGUMENT: parts are missing */
  complete(operation: Operation, session: UploadSession, password: string): Promise<UploadSession>;
  /** Takes an upload away; one that is not there is success. A file that was published stays. */
  abort(id: string): Promise<void>;
  /** The same of an unfinished one of whomever. @throws AppError RECORD_NOT_FOUND */
  end(id: string): Promise<void>;
  /** Unfinished ones, the oldest first. @param userId undefined: of everybody */
  list(userId: number | undefined, page: { offset: number; limit: number }): Promise<{ sessions: UploadSession[]; total: number }>;
}

export interface UploadsOptions {
  readonly parts: SessionParts;
  readonly store: UploadStore;
  readonly clock: () => number;
  readonly isAlone: boolean;
}

export function createUploads({ parts, store, clock, isAlone }: UploadsOptions): Uploads {
  const running = createRunningHashes();
  const claims = createUploadClaims({ store, clock, isAlone });
  const upload: UploadParts = { parts, store, claims, running };
  const completing = new Map<string, Promise<UploadSession>>();

  const abort = async (id: string) => {
    running.forget(id);
    await abortSession(parts, id);
  };
  /** Work that is refused for good leaves nothing. */
  const orNothing = async <Result>({ id }: UploadSession, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await run();
    } catch (error) {
      if (isForGood(error)) await abort(id).catch(() => undefined);
      throw error;
    }
  };
  const requireAllowed = (operation: Operation, { path, storageId }: UploadSession) => locateUpload(operation, path, storageId);
  const publish = async (operation: Operation, { id }: UploadSession, password: string): Promise<UploadSession> => {
    const outcome = await claims.hold(id, 'complete', false, async (held) => {
      const keeping = setInterval(() => void held.keep().catch(() => undefined), KEEP_MS);
      try {
        return await publishUpload(parts, running, operation, held, password);
      } finally {
        clearInterval(keeping);
        running.forget(id);
      }
    });
    if (outcome === 'accepted') throw noUpload();
    return outcome;
  };

  const complete: Uploads['complete'] = async (operation, session, password) => {
    if (session.isPublished) return session;
    if (!isComplete(session)) throw new AppError('INVALID_ARGUMENT', 'parts of the upload are missing');
    const known = completing.get(session.id);
    if (known) return known;
    const ending = orNothing(session, () => publish(operation, session, password)).catch(async (error) => {
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
    begin: (operation, asked) => begin(upload, operation, asked),
    async find({ actor }, id) {
      const session = await store.find(id);
      if (!session) throw noUpload();
      if (session.userId !== actor.id) throw new AppError('PERMISSION_DENIED', 'this upload is somebody else’s');
      return session;
    },
    async findByPath({ actor }, path, sizeBytes) {
      const [session] = actor.role === ROLE.guest ? [] : await store.findSame(actor.id, resolvePath(actor, path), sizeBytes);
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
        begin: async (id, sizeBytes) => (await begin(upload, operation, { ...asked, id, sizeBytes, kind: 'stream' })).session,
        complete: (session) => complete(operation, session, asked.password),
        abort,
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
  };
}

async function begin({ parts, store }: UploadParts, operation: Operation, asked: NewUpload): Promise<BegunUpload> {
  const { actor, snapshot, signal } = operation;
  const { sizeBytes, kind } = asked;
  const { path, located, mayReplace } = await beginUpload(operation, asked);
  const driver = await uploadDriver(located);
  if (!supports(driver, 'openDraft')) throw new AppError('UNSUPPORTED_OPERATION', 'this storage takes no uploads in parts');
  const ceilingBytes = snapshot.settings.number('multipart_chunk_size', DEFAULT_CHUNK_MB) * MEGABYTE;
  const session: UploadSession = {
    id: asked.id ?? randomBytes(16).toString('hex'),
    userId: actor.id,
    path,
    storageId: located.mount.storage._id,
    hasDraft: true,
    publishingPath: undefined,
    isPublished: false,
    sizeBytes,
    dataUrl: '',
    expiresAt: uploadExpiry(parts),
    upload: {
      kind,
      chunkBytes: kind === 'parts' ? chunkSizeFor(sizeBytes, asked.wishedChunkBytes ?? 0, ceilingBytes) : 0,
      overwrite: asked.overwrite && mayReplace,
      modifiedAt: asked.modifiedAt,
      hashes: asked.expectedHashes,
      parts: new Map(),
      offsetBytes: 0,
      isTakenOver: false,
      isPartial: asked.isPartial ?? false,
      metadata: asked.metadata ?? '',
      userName: asked.userName,
      createdAt: new Date(parts.options.clock()),
    },
  };
  if (await isThere(operation, located, session, asked.password)) return { session: { ...session, isPublished: true }, isResumed: false };
  const known =
    kind === 'parts' &&
    actor.role !== ROLE.guest &&
    (await store.findSame(actor.id, path, sizeBytes)).find((other) => isSame(other, session));
  if (known) return { session: known, isResumed: true };
  await requireFewer(store, actor.id, 0);
  const { partBytes } = await keepSession(parts, session, { operation, path: located.path, driver, signal });
  // Others may have begun some at the same moment.
  await requireFewer(store, actor.id, 1).catch(async (error) => {
    await abortSession(parts, session.id);
    throw error;
  });
  const chunkBytes = onGrid(session.upload.chunkBytes, partBytes);
  if (chunkBytes === session.upload.chunkBytes || Math.ceil(sizeBytes / chunkBytes) > MAX_PARTS) return { session, isResumed: false };
  await store.cut(session.id, chunkBytes);
  return { session: { ...session, upload: { ...session.upload, chunkBytes } }, isResumed: false };
}

/** Whether the storage has the announced file, as a hash of its own says, and the caller may read it. */
async function isThere(
  { snapshot, actor, signal }: Operation,
  located: Located<Mount>,
  { path, sizeBytes, upload }: UploadSession,
  password: string,
): Promise<boolean> {
  const wanted = Object.entries(upload.hashes);
  if (wanted.length === 0 || !upload.overwrite || upload.isPartial || !snapshot.rules.canAccess(actor, path, password)) return false;
  const entry: Entry | undefined = await findEntry(snapshot, path, located, signal);
  if (!entry || entry.isDirectory || entry.sizeBytes !== sizeBytes) return false;
  const has = wanted
    .map(([name, digest]) => ({ digest, known: entry.hashes?.[name as HashName] }))
    .filter(({ known }) => known !== undefined);
  return has.length > 0 && has.every(({ digest, known }) => digest === known);
}

/** Whether two uploads of one path and size are of one file: only hashes tell, so one without any is like no other. */
function isSame({ upload: one, storageId }: UploadSession, { upload: other, storageId: otherStorage }: UploadSession): boolean {
  const names = Object.keys(one.hashes) as HashName[];
  return (
    one.kind === other.kind &&
    storageId === otherStorage &&
    one.overwrite === other.overwrite &&
    names.some((name) => other.hashes[name] !== undefined) &&
    names.every((name) => other.hashes[name] === undefined || other.hashes[name] === one.hashes[name])
  );
}

/** @param beside uploads that are counted with the rest and are no reason to refuse */
async function requireFewer(store: UploadStore, userId: number, beside: number): Promise<void> {
  const [own, all] = await Promise.all([store.count(userId), store.count(undefined)]);
  if (own - beside >= MAX_OF_USER) throw new AppError('QUOTA_EXCEEDED', `you have ${MAX_OF_USER} unfinished uploads: end some of them`);
  if (all - beside >= MAX_OF_ALL) throw new AppError('QUOTA_EXCEEDED', 'there are too many unfinished uploads: come again later');
}

/** Errors after which the same upload would never get its name. */
function isForGood(error: unknown): boolean {
  if (!AppError.is(error)) return false;
  return ERROR_CODES[error.code].retry === 'never' && !MENDABLE.has(error.code);
}

/** What another request, another login or a moment may mend. */
const MENDABLE: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'UNAUTHENTICATED',
  'FAILED_PRECONDITION',
  'STALE_VERSION',
  'STORAGE_LOGIN_FAILED',
  'CANCELLED',
  'INTERNAL',
]);
