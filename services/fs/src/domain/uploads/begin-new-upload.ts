import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { userShareOf } from '../../driver-contract/own-folder.ts';
import { type Entry, type HashName, supports } from '../../driver-contract/storage-driver.ts';
import { callOf, type Operation } from '../changing/operations/operation.ts';
import { beginUpload, type UploadRequest, uploadDriver } from '../changing/upload.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { abortSession } from '../writes/end-session.ts';
import { keepSession, type NewPlace } from '../writes/open-session.ts';
import { type SessionParts, uploadExpiry } from '../writes/session-parts.ts';
import type { UploadState } from '../writes/write-session.ts';
import { noUpload } from './upload-claims.ts';
import { chunkSizeFor, MAX_PARTS, onGrid, type UploadSession, type UploadStore } from './upload-session.ts';
import type { UploadParts } from './write-part.ts';

const MEGABYTE = 1024 * 1024;
const DEFAULT_CHUNK_MB = 10;

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
  /** Of a guest: guests are one user, of whose uploads those of one address are a part only. */
  readonly address?: string | undefined;
}

export interface BegunUpload {
  readonly session: UploadSession;
  /** It was begun before. */
  readonly isResumed: boolean;
}

/** Unfinished uploads that there may be. */
export interface MostUploads {
  readonly ofUser: number;
  readonly ofAll: number;
}

/** Of the uploads of guests those of one address may be one of so many, and of the bytes that these wait with. */
const ADDRESSES = 10;
const ADDRESSES_BY_BYTES = 3;
/** An upload that is not ready after so long belongs to a process that was killed, in milliseconds: counting what a quota is over takes its time. */
const BEGINNING_MS = 120_000;
/** Others that begin the same wait so long for it, in milliseconds. */
const WAIT_MS = 10_000;
const POLL_MS = 50;

/** As Uploads.begin() has it. */
export async function beginNewUpload(
  { parts, store }: UploadParts,
  most: MostUploads,
  operation: Operation,
  asked: NewUpload,
): Promise<BegunUpload> {
  const { actor, snapshot, signal } = operation;
  const { sizeBytes, kind } = asked;
  const { path, located, mayReplace } = await beginUpload(operation, asked);
  const driver = await uploadDriver(located);
  const isSpooled = !supports(driver, 'openDraft');
  const spool = isSpooled ? parts.options.spool : undefined;
  if (isSpooled && !spool)
    throw new AppError(
      'UNSUPPORTED_OPERATION',
      'this storage takes whole files only, and there is no folder to keep parts until they are one',
    );
  const ceilingBytes = snapshot.settings.number('multipart_chunk_size', DEFAULT_CHUNK_MB) * MEGABYTE;
  const now = parts.options.clock();
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
    expiresAt: new Date(now + BEGINNING_MS),
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
      address: asked.address,
      spool: spool?.id,
      createdAt: new Date(now),
    },
  };
  if (await isThere(operation, located, session, asked.password)) return { session: { ...session, isPublished: true }, isResumed: false };
  const place = { operation, path: located.path, driver, signal };
  if (kind !== 'parts' || actor.role === ROLE.guest)
    return { session: await keepUpload(parts, store, most, session, place), isResumed: false };
  const alike = await store.findSame(actor.id, { path, sizeBytes, hashes: asked.expectedHashes });
  const known = alike.find((other) => isSame(other, session));
  if (known) return { session: known, isResumed: true };
  return oneOfEach(parts, store, most, session, place);
}

/** Keeps an upload, unless there is one of its key already: that one is answered, once it is ready. */
async function oneOfEach(
  parts: SessionParts,
  store: UploadStore,
  most: MostUploads,
  session: UploadSession,
  place: NewPlace,
): Promise<BegunUpload> {
  const key = keyOf(session);
  const keyed = { ...session, upload: { ...session.upload, key } };
  for (
    const startedAt = performance.now();
    performance.now() - startedAt < WAIT_MS;
    await delay(POLL_MS, undefined, { signal: place.signal })
  ) {
    const known = key === undefined ? undefined : await store.findByKey(key);
    if (!known)
      try {
        return { session: await keepUpload(parts, store, most, keyed, place), isResumed: false };
      } catch (error) {
        if (!AppError.is(error, 'RECORD_EXISTS')) throw error;
        continue;
      }
    // One digest is the same, and another is not: that is no file, and ends by itself.
    if (!isSame(known.session, session)) return { session: await keepUpload(parts, store, most, session, place), isResumed: false };
    if (known.isBegun) return { session: known.session, isResumed: true };
    if (known.session.expiresAt.getTime() <= parts.options.clock()) await abortSession(parts, known.session.id);
  }
  throw new AppError('OVERLOADED', 'this upload is being begun by another connection: try again in a moment');
}

/** @throws AppError RECORD_EXISTS: there is one of its key */
async function keepUpload(
  parts: SessionParts,
  store: UploadStore,
  most: MostUploads,
  session: UploadSession,
  place: NewPlace,
): Promise<UploadSession> {
  const { id, sizeBytes, upload } = session;
  const requireRoom = async (isKept: boolean) => {
    await requireFewer(store, most, session, isKept ? 1 : 0);
    await requireShare(parts, store, session, isKept ? 0 : sizeBytes);
  };
  await requireRoom(false);
  // Others may have begun some at the same moment.
  const { partBytes } = await keepSession(parts, session, { ...place, admit: () => requireRoom(true) });
  const onItsGrid = onGrid(upload.chunkBytes, partBytes);
  const chunkBytes = Math.ceil(sizeBytes / onItsGrid) > MAX_PARTS ? upload.chunkBytes : onItsGrid;
  const begun = await store.begun(id, chunkBytes, uploadExpiry(parts));
  if (!begun) throw noUpload();
  return begun;
}

/** What an upload is found again by; undefined without a hash, as it is like no other then. */
function keyOf({ userId, storageId, path, sizeBytes, upload }: UploadSession): string | undefined {
  const name = HASHES.find((each) => upload.hashes[each] !== undefined);
  if (name === undefined) return undefined;
  const parts = [userId, storageId, sizeBytes, upload.overwrite, name, upload.hashes[name], path];
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** The best first. */
const HASHES = ['sha256', 'sha1', 'md5'] as const;

/** Whether the storage has the announced file, as a hash of its own says, and the caller may read it. */
async function isThere(
  operation: Operation,
  located: Located<Mount>,
  { path, sizeBytes, upload }: UploadSession,
  password: string,
): Promise<boolean> {
  const { snapshot, actor } = operation;
  const wanted = Object.entries(upload.hashes);
  if (wanted.length === 0 || !upload.overwrite || upload.isPartial || !snapshot.rules.canAccess(actor, path, password)) return false;
  const entry: Entry | undefined = await findEntry(snapshot, path, located, callOf(operation));
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
async function requireFewer(
  store: UploadStore,
  { ofUser, ofAll }: MostUploads,
  { userId, upload: { address } }: UploadSession,
  beside: number,
): Promise<void> {
  const [own, all, ofAddress] = await Promise.all([
    store.count(userId),
    store.count(undefined),
    address === undefined ? 0 : store.count(userId, address),
  ]);
  const mostOfAddress = Math.max(Math.min(ofUser, 2), Math.ceil(ofUser / ADDRESSES));
  if (ofAddress - beside >= mostOfAddress)
    throw new AppError(
      'QUOTA_EXCEEDED',
      `guests of your address have ${mostOfAddress} unfinished uploads: go on with some of them, or log in`,
    );
  if (own - beside >= ofUser) throw new AppError('QUOTA_EXCEEDED', `you have ${ofUser} unfinished uploads: end some of them`);
  if (all - beside >= ofAll) throw new AppError('QUOTA_EXCEEDED', 'there are too many unfinished uploads: come again later');
}

/** One user's parts leave room in the spool for those of others. @param beside bytes that are about to be announced */
async function requireShare(
  { options }: SessionParts,
  store: UploadStore,
  { userId, upload }: UploadSession,
  beside: number,
): Promise<void> {
  if (!options.spool || upload.spool === undefined) return;
  const { id, limitBytes } = options.spool;
  const mostBytes = userShareOf(limitBytes);
  const { address } = upload;
  const mostOfAddress = Math.floor(mostBytes / ADDRESSES_BY_BYTES);
  if (address !== undefined && (await store.spooledBytes(userId, id, address)) + beside > mostOfAddress) {
    const ofGuests = `this storage takes whole files only, and unfinished uploads of guests of your address to such storages may have ${mostOfAddress} bytes in all`;
    throw new AppError('QUOTA_EXCEEDED', `${ofGuests}: go on with some of them, or log in`);
  }
  if ((await store.spooledBytes(userId, id)) + beside <= mostBytes) return;
  const message = `this storage takes whole files only, and your unfinished uploads to such storages may have ${mostBytes} bytes in all: end some of them, or upload without parts`;
  throw new AppError('QUOTA_EXCEEDED', message);
}
