import { type WriteSessionRecord, writeSessionModelOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';
import type { UploadClaim, UploadSession, UploadStore } from '../domain/uploads/upload-session.ts';
import { toStoredCrc } from './upload-record.ts';
import { createUploadStore, toUploadSession } from './upload-store.ts';

/** Uploads whose last change is known here. */
const MAX_CHANGED = 10_000;

/**
 * The uploads of a process that no other shares its store with. Its claims are in memory and end with it, so that a part costs the store one change, and no
 * look where the caller has just looked.
 */
export function createLoneUploadStore(connection: StoreConnection): UploadStore {
  const model = writeSessionModelOf(connection);
  const store = createUploadStore(connection);
  const claims = new Map<string, Pick<UploadClaim, 'writer' | 'until'>>();
  const looks = createLooks();
  const nameOf = ({ id, key }: Pick<UploadClaim, 'id' | 'key'>) => `${id} ${key}`;
  const isHolder = (claim: Pick<UploadClaim, 'id' | 'key' | 'writer'>) => claims.get(nameOf(claim))?.writer === claim.writer;
  const free: UploadStore['free'] = async (claim) => {
    if (isHolder(claim)) claims.delete(nameOf(claim));
  };
  const find = (id: string) => looks.read(() => store.find(id));
  /** Changes an upload that is under way, for whoever holds the claim. @param isLast the claim ends with it */
  const change = async (
    claim: Pick<UploadClaim, 'id' | 'key' | 'writer'>,
    filter: object,
    set: object,
    isLast: boolean,
  ): Promise<UploadSession | undefined> => {
    if (!isHolder(claim)) return undefined;
    const { id } = claim;
    try {
      const changing = model.findOneAndUpdate(
        { _id: id, upload_state: 'receiving', ...filter },
        { $set: set },
        { returnDocument: 'after' },
      );
      return toUploadSession(await changing.lean<WriteSessionRecord>());
    } finally {
      looks.changed(id);
      if (isLast) await free(claim);
    }
  };
  return {
    ...store,
    find,
    async claim({ id, key, writer, until }, now, known) {
      const name = nameOf({ id, key });
      const held = claims.get(name);
      if (held && held.until > now) return { heldUntil: held.until };
      claims.set(name, { writer, until });
      const letGo = <Outcome extends string>(outcome: Outcome): Outcome => {
        claims.delete(name);
        return outcome;
      };
      try {
        // Nothing shows in an upload that its file has its name, so whoever ends it looks again.
        const session = known && key !== 'complete' && looks.isCurrent(known) ? known : await find(id);
        if (!session || session.isPublished) return letGo('gone');
        if (session.upload.parts.has(Number(key))) return letGo('accepted');
        if (held) await model.updateOne({ _id: id }, { $set: { 'upload.is_taken_over': true } });
        return { session, former: held?.writer };
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
    accept: (claim, crc, expiresAt) => {
      const part = `upload.parts.${claim.key}`;
      return change(claim, { [part]: { $exists: false } }, { [part]: toStoredCrc(crc), expires_at: expiresAt }, true);
    },
    advance: ({ id, writer }, offsetBytes, expiresAt, isLast) =>
      change({ id, writer, key: 'stream' }, {}, { 'upload.offset_bytes': offsetBytes, expires_at: expiresAt }, isLast),
  };
}

/** Tells whether what was read of an upload still holds, as far as this process changed it. */
function createLooks() {
  let turn = 0;
  /** Whatever was read before is not relied upon. */
  let floor = 0;
  const readAt = new WeakMap<UploadSession, number>();
  const changedAt = new Map<string, number>();
  return {
    async read(look: () => Promise<UploadSession | undefined>): Promise<UploadSession | undefined> {
      const began = turn;
      const session = await look();
      if (session) readAt.set(session, began);
      return session;
    },
    isCurrent(session: UploadSession): boolean {
      const began = readAt.get(session) ?? -1;
      return began >= floor && began >= (changedAt.get(session.id) ?? 0);
    },
    changed(id: string): void {
      turn += 1;
      changedAt.set(id, turn);
      if (changedAt.size <= MAX_CHANGED) return;
      changedAt.clear();
      floor = turn;
    },
  };
}
