import { AppError } from '@wharf/errors';
import { baseName } from '@wharf/paths';
import type { BeforePublish, Entry, HashName, PublishOptions, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { ownRefusal } from '../access/own-refusal.ts';
import { claimRoom, holdRoom } from '../changing/operations/claim-room.ts';
import { callerOf, callOf, type Operation, type Place, savedMeanwhile } from '../changing/operations/operation.ts';
import { patiently } from '../changing/operations/rights-of-now.ts';
import { hasContent } from '../changing/same-content.ts';
import { locateUpload, uploadDriver } from '../changing/upload.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { verify } from '../writes/digests.ts';
import { removeDraft } from '../writes/end-session.ts';
import { type PublishedFile, published } from '../writes/publish-session.ts';
import { openSessionDraft, type SessionDraft } from '../writes/session-draft.ts';
import { type SessionParts, stillThere } from '../writes/session-parts.ts';
import { isReplaced, publishedAlready } from '../writes/session-place.ts';
import { roomOf } from '../writes/write-session.ts';
import { createPartSum } from './part-sum.ts';
import type { RunningHashes } from './running-hashes.ts';
import { type HeldPart, noUpload } from './upload-claims.ts';
import { partRange, type UploadSession } from './upload-session.ts';

/**
 * Gives an upload whose bytes are all durable its name, if its user still may, and what is there is what was announced.
 *
 * @param held the claim on its end. @param password of the rule that guards a file which is replaced. @throws AppError CONTENT_CORRUPT | PERMISSION_DENIED | QUOTA_EXCEEDED | ENTRY_EXISTS and what drivers throw
 */
export async function publishUpload(
  parts: SessionParts,
  running: RunningHashes,
  operation: Operation,
  held: HeldPart,
  password: string,
): Promise<UploadSession> {
  const { store, drafts, options } = parts;
  const { session } = held;
  const { signal } = held;
  if (session.publishingPath) {
    const done = await publishedAlready(options, session, signal);
    if (done) return finish(parts, session, done.operation, done);
  }
  const located = await locateUpload(operation, session.path, session.storageId);
  const driver = await uploadDriver(located);
  // A quota that has become smaller is noticed here, as the room of the file is held already.
  const claim = await holdRoom(operation, roomOf(session, session.sizeBytes));
  try {
    await (await claimRoom(operation, 0)).release();
    await drafts.release(session.id);
    const openDraft = () => openSessionDraft(options.spool, session, { driver, path: located.path, signal }, false).catch(asGone);
    const draft = await openDraft();
    try {
      await requireContent(draft, session, running, signal);
      const { overwrite, modifiedAt } = session.upload;
      const beforePublish = stillOurs(parts, operation, held, password);
      const publishing = { overwrite, modifiedAt, beforePublish, signal, caller: callerOf(operation) };
      const since = operation.changes.now();
      let entry: Entry;
      if (draft.publish && !session.upload.isTakenOver) {
        const there = () => findEntry(operation.snapshot, session.path, located, { ...callOf(operation), seesAll: true });
        const isLater = overwrite && session.publishingPath !== undefined;
        const now = await there();
        const place = { driver, path: located.path };
        if (isLater && (await isOfOthers(now, operation, session, place, draft))) throw savedMeanwhile(baseName(session.path));
        await store.beginPublishing(session.id, session.path, isLater ? session.replaced : now);
        entry = await draft.publish(publishing).catch(async (error) => {
          // Of what is not there it may be the draft, or what is above the file.
          if (AppError.is(error, 'ENTRY_NOT_FOUND')) await (await openDraft()).close();
          // A bucket knows what had the name before the first attempt.
          throw isLater && AppError.is(error, 'ENTRY_EXISTS') && (await there()) ? savedMeanwhile(baseName(session.path)) : error;
        });
      } else entry = await writeCopy(parts, operation, { session, located, driver, draft }, publishing);
      return await finish(parts, session, operation, { sizeBytes: entry.sizeBytes ?? session.sizeBytes, told: { driver, entry, since } });
    } finally {
      await draft.close();
    }
  } finally {
    claim.letGo();
  }
}

/** Where there is no draft any more, the upload was taken away elsewhere since it was found. */
function asGone(error: unknown): never {
  throw AppError.is(error, 'ENTRY_NOT_FOUND') ? noUpload() : error;
}

async function finish(
  parts: SessionParts,
  session: UploadSession,
  operation: Operation,
  { sizeBytes, told }: Omit<PublishedFile, 'path'>,
): Promise<UploadSession> {
  // A copy leaves its draft.
  if (isCopied(session)) await removeDraft(parts, session, AbortSignal.timeout(REMOVE_MS)).catch(() => undefined);
  const done = await published(parts, session, operation, { path: session.path, sizeBytes, told });
  return { ...session, ...done, upload: session.upload };
}

const REMOVE_MS = 30_000;

/** Whether the file is made of a copy of the draft. */
const isCopied = ({ upload }: UploadSession) => upload.isTakenOver || upload.spool !== undefined;

interface Copied {
  readonly session: UploadSession;
  readonly located: Located<Mount>;
  readonly driver: StorageDriver & Required<Pick<StorageDriver, 'write'>>;
  readonly draft: SessionDraft;
}

/** Makes the file of a copy of the draft. Where a process died that had done so, the file it made is taken for it. @throws AppError ENTRY_EXISTS and what `write` throws */
async function writeCopy(
  { store }: SessionParts,
  operation: Operation,
  { session, located, driver, draft }: Copied,
  options: PublishOptions,
): Promise<Entry> {
  const { id, path, sizeBytes, publishingPath } = session;
  const { signal } = operation;
  const there = () => findEntry(operation.snapshot, path, located, { ...callOf(operation), seesAll: true });
  // What had the name before the first attempt: what has it later may be ours.
  const replaced = publishingPath === undefined ? await there() : session.replaced;
  // Without `overwrite`, noted is only a name that was free.
  if (!options.overwrite && publishingPath === undefined && replaced) throw storageError('ENTRY_EXISTS');
  await store.beginPublishing(id, path, replaced);
  const place = { driver, path: located.path };
  /** What has the name now, where that is not what had it before: ours, or else that of somebody who saved it since. */
  const made = async (refusal: () => AppError) => {
    const entry = publishingPath === undefined ? undefined : await there();
    if (!entry || isReplaced(entry, session)) return undefined;
    if (await isOfOthers(entry, operation, session, place, draft)) throw refusal();
    return entry;
  };
  const exists = () => storageError('ENTRY_EXISTS');
  const done = await made(options.overwrite ? () => savedMeanwhile(baseName(path)) : exists);
  if (done && !(options.overwrite && driver.traits.hasMirrors)) return done;
  try {
    return await driver.write(located.path, checkedParts(draft, session, signal), { ...options, sizeBytes });
  } catch (error) {
    // An earlier attempt may only now have come to its end.
    const late = AppError.is(error, 'ENTRY_EXISTS') ? await made(exists) : undefined;
    if (late) return late;
    throw error;
  }
}

/** Whether what has the name at a later attempt is neither what had it before the first one, nor ours. */
async function isOfOthers(
  entry: Entry | undefined,
  operation: Operation,
  session: UploadSession,
  place: Place,
  draft: SessionDraft,
): Promise<boolean> {
  const { sizeBytes } = session;
  if (!entry || isReplaced(entry, session)) return false;
  if (entry.isDirectory || (entry.sizeBytes ?? sizeBytes) !== sizeBytes) return true;
  return !(await hasContent(place, async (reading) => draft.read({ signal: reading }), callOf(operation)));
}

/** Rights, login, rules and claim are asked for again when the file is about to get its name. */
function stillOurs({ store }: SessionParts, operation: Operation, held: HeldPart, password: string): BeforePublish {
  const { session } = held;
  const isThere = stillThere(store, session.id);
  return async () => {
    await held.keep();
    await isThere();
    const { renewed, signal } = operation;
    const now = renewed ? await patiently(() => renewed(signal), signal) : operation;
    await requireStillAllowed(now, session, password);
  };
}

/** A rule may guard since what the upload would replace: its password is asked for, as it would be at the beginning. */
async function requireStillAllowed(operation: Operation, session: UploadSession, password: string): Promise<void> {
  const { snapshot, actor } = operation;
  const { path } = session;
  const located = await locateUpload(operation, path, session.storageId);
  if (!session.upload.overwrite || snapshot.rules.canAccess(actor, path, password)) return;
  if (await findEntry(snapshot, path, located, callOf(operation))) snapshot.rules.requireAccess(actor, path, password);
}

/** @throws AppError CONTENT_CORRUPT: another size or another digest */
async function requireContent(draft: SessionDraft, session: UploadSession, running: RunningHashes, signal: AbortSignal): Promise<void> {
  const { hashes } = session.upload;
  const known = running.digests(session);
  const names = Object.keys(hashes).filter((name): name is HashName => name === 'md5' || name === 'sha1' || name === 'sha256');
  const wrong = known && names.find((name) => known[name] !== hashes[name]);
  if (wrong) throw ownRefusal('CONTENT_CORRUPT', `the file does not have the announced ${wrong} digest`);
  const digests = known ? {} : Object.fromEntries(names.map((name) => [name, hashes[name] ?? '']));
  await verify(draft, { sizeBytes: session.sizeBytes, digests }, signal);
}

/** The bytes of a draft into which somebody may still write, each part held against what was accepted. @throws AppError CONTENT_CORRUPT */
async function* checkedParts(draft: SessionDraft, session: UploadSession, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  let index = 0;
  const begin = () => ({ bytes: 0, sum: createPartSum(session.id) });
  let part = begin();
  for await (const chunk of draft.read({ signal })) {
    for (let from = 0; session.upload.kind === 'parts' && from < chunk.byteLength; ) {
      const { lengthBytes } = partRange(session, index);
      const piece = chunk.subarray(from, from + lengthBytes - part.bytes);
      part.sum.update(piece);
      part.bytes += piece.byteLength;
      from += piece.byteLength;
      if (part.bytes < lengthBytes) continue;
      if (part.sum.value() !== session.upload.parts.get(index))
        throw ownRefusal('CONTENT_CORRUPT', `part ${index} is not what was accepted`);
      index += 1;
      part = begin();
    }
    yield chunk;
  }
}
