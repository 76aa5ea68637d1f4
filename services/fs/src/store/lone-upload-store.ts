import { writeSessionModelOf } from '@wharf/models';
import { lasts } from '@wharf/pace';
import type { StoreConnection } from '@wharf/service-kit';
import { LONGEST_CLAIM_MS, type UploadClaim, type UploadSession, type UploadStore } from '../domain/uploads/upload-session.ts';
import type { UploadState, WriteSessionStore } from '../domain/writes/write-session.ts';
import { createKnownUploads } from './known-uploads.ts';
import { toStoredSum } from './upload-record.ts';
import { createUploadStore } from './upload-store.ts';
import { createWriteSessionStore } from './write-session-store.ts';

type Claimed = Pick<UploadClaim, 'id' | 'key' | 'writer'>;

/** What a change makes of an upload, in the store and here. */
interface UploadChange {
  /** What must hold beside the claim. */
  readonly filter?: object;
  readonly set: object;
  readonly expiresAt: Date;
  /** The claim ends with it. */
  readonly isLast: boolean;
  next(upload: UploadState): UploadState;
}

/**
 * The uploads of a process that no other shares its store with. Its claims are in memory and end with it, and what it has read or changed of an upload is known
 * here, so that a part costs the store one change. All changes of sessions in that process must go through these two.
 */
export function createLoneUploadStore(connection: StoreConnection): { uploads: UploadStore; sessions: WriteSessionStore } {
  const model = writeSessionModelOf(connection);
  const store = createUploadStore(connection);
  const claims = new Map<string, Pick<UploadClaim, 'writer' | 'until'>>();
  const known = createKnownUploads(store.find);
  const nameOf = ({ id, key }: Pick<UploadClaim, 'id' | 'key'>) => `${id} ${key}`;
  const isHolder = (claim: Claimed) => claims.get(nameOf(claim))?.writer === claim.writer;
  const free: UploadStore['free'] = async (claim) => {
    if (isHolder(claim)) claims.delete(nameOf(claim));
  };
  /** Changes an upload that is under way, for whoever holds the claim. */
  const change = async (claim: Claimed, { filter, set, expiresAt, isLast, next }: UploadChange): Promise<UploadSession | undefined> => {
    if (!isHolder(claim)) return undefined;
    const { id } = claim;
    try {
      const open = { _id: id, upload_state: 'receiving', ...filter };
      const { matchedCount } = await model.updateOne(open, { $set: { ...set, expires_at: expiresAt } });
      if (matchedCount > 0) known.change(id, (session) => ({ ...session, expiresAt, upload: next(session.upload) }));
      else known.forget(id);
      return matchedCount > 0 ? await known.find(id) : undefined;
    } catch (error) {
      // Whether it was done is open.
      known.forget(id);
      throw error;
    } finally {
      if (isLast) await free(claim);
    }
  };
  const uploads: UploadStore = {
    ...store,
    find: known.find,
    begun: (id, ...how) => known.changing(id, () => store.begun(id, ...how)),
    async claim({ id, key, writer, until }, now, seen) {
      const name = nameOf({ id, key });
      const held = claims.get(name);
      if (held && lasts(held.until.getTime(), now.getTime(), LONGEST_CLAIM_MS)) return { heldUntil: held.until };
      claims.set(name, { writer, until });
      const letGo = <Outcome extends string>(outcome: Outcome): Outcome => {
        claims.delete(name);
        return outcome;
      };
      try {
        const session = seen && known.isCurrent(seen) ? seen : await known.find(id);
        if (!session || session.isPublished) return letGo('gone');
        if (session.upload.parts.has(Number(key))) return letGo('accepted');
        if (!held) return { session, former: undefined };
        await known.changing(id, () => model.updateOne({ _id: id }, { $set: { 'upload.is_taken_over': true } }));
        return { session: { ...session, upload: { ...session.upload, isTakenOver: true } }, former: held.writer };
      } catch (error) {
        letGo('');
        throw error;
      }
    },
    async renew(claim) {
      if (!isHolder(claim)) return false;
      claims.set(nameOf(claim), { writer: claim.writer, until: claim.until });
      return true;
    },
    free,
    accept(claim, sum, expiresAt) {
      const part = `upload.parts.${claim.key}`;
      return change(claim, {
        filter: { [part]: { $exists: false } },
        set: { [part]: toStoredSum(sum) },
        expiresAt,
        isLast: true,
        next: (upload) => ({ ...upload, parts: new Map(upload.parts).set(Number(claim.key), sum) }),
      });
    },
    advance: ({ id, writer }, offsetBytes, expiresAt, isLast) =>
      change(
        { id, writer, key: 'stream' },
        { set: { 'upload.offset_bytes': offsetBytes }, expiresAt, isLast, next: (upload) => ({ ...upload, offsetBytes }) },
      ),
  };
  return { uploads, sessions: knownTo(known, createWriteSessionStore(connection)) };
}

/** The store of sessions, whose changes are noticed. */
function knownTo({ changing }: ReturnType<typeof createKnownUploads>, store: WriteSessionStore): WriteSessionStore {
  return {
    ...store,
    insert: (session) => changing(session.id, () => store.insert(session)),
    touch: (id, ...how) => changing(id, () => store.touch(id, ...how)),
    beginPublishing: (id, ...how) => changing(id, () => store.beginPublishing(id, ...how)),
    markPublished: (session, ...how) => changing(session.id, () => store.markPublished(session, ...how)),
    remove: (id) => changing(id, () => store.remove(id)),
  };
}
