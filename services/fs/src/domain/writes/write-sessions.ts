import { AppError } from '@wharf/errors';
import { parseVirtualPath } from '@wharf/paths';
import { supports } from '../../driver-contract/storage-driver.ts';
import { withinClaim } from '../quota/quota.ts';
import type { Digests } from './digests.ts';
import { abortSession } from './end-session.ts';
import { claimOf, RELEASE_MS, syncDraft } from './open-drafts.ts';
import { type NewFile, openSession } from './open-session.ts';
import { commit, heldDuring, published, writeWhole } from './publish-session.ts';
import { expiryFrom, findSession, type SessionParts } from './session-parts.ts';
import { publishedAlready, requireEntry } from './session-place.ts';
import { IDLE_MS, type OpenedSession, type WriteSession } from './write-session.ts';

/** Files that other services bring into the tree, range by range. */
export interface WriteSessions {
  /**
   * Claims the announced size, which is held until the session ends: as long as its draft lives, and without a draft for as long as quotas
   * hold after it was last used. Whatever a failure leaves is found by the id.
   * @param id nobody's yet: 32 random hexadecimal digits.
   * @throws AppError PERMISSION_DENIED | UNSUPPORTED_OPERATION | NOT_A_DIRECTORY | MOUNT_NOT_FOUND | UNSAFE_PATH | QUOTA_EXCEEDED | INVALID_ARGUMENT |
   * RECORD_EXISTS: the id is another session's
   */
  open(id: string, userId: number, file: NewFile, signal: AbortSignal): Promise<OpenedSession>;
  /**
   * One that takes no ranges, and whose process died while it was published, is not taken for published: what has the name may be somebody else's, and who
   * sends the file again finds that out. @throws AppError RECORD_NOT_FOUND, also when what it had written is gone
   */
  resume(id: string, signal: AbortSignal): Promise<OpenedSession>;
  /**
   * Writes a range. Several may be written at a time. @throws AppError RECORD_NOT_FOUND | FAILED_PRECONDITION (it takes no ranges) |
   * QUOTA_EXCEEDED (before the first byte that has no room)
   */
  writeRange(id: string, offsetBytes: number, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Writes the whole file and publishes it, for a session that takes no ranges. @throws AppError CONTENT_CORRUPT | INVALID_ARGUMENT (another size) */
  writeWhole(
    id: string,
    file: { sizeBytes: number; digests: Digests },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  /** @param keptBytes of a session that takes no ranges: what its caller keeps until the file is whole. @throws AppError QUOTA_EXCEEDED */
  sync(id: string, keptBytes: number): Promise<void>;
  /** @throws AppError CONTENT_CORRUPT (another size or digest; the session stays) */
  commit(id: string, file: { sizeBytes: number; digests: Digests }, signal: AbortSignal): Promise<WriteSession>;
  abort(id: string): Promise<void>;
  /** Makes a folder that has no file. One that is there is success, and so is a storage that knows none. @throws AppError as open() */
  makeFolder(userId: number, path: string, signal: AbortSignal): Promise<void>;
  /** Takes away what nobody used for a day; what cannot be taken away is tried again with the next sweep. */
  sweep(): Promise<void>;
  /** Lets go of every draft; they stay. */
  close(): Promise<void>;
}

/** What could not be taken away is looked at again after so long, in milliseconds. */
const RETRY_SWEEP_MS = 300_000;

export function createWriteSessions(parts: SessionParts): WriteSessions {
  const { options, store, drafts } = parts;
  const { clock } = options;
  const expiry = () => expiryFrom(clock);

  return {
    open: (id, userId, file, signal) => openSession(parts, id, userId, file, signal),
    async resume(id, signal) {
      const session = await findSession(store, id);
      await store.touch(id, expiry());
      let partBytes = 1;
      if (session.hasDraft && !session.isPublished) {
        try {
          // The session lives longer from now on, and so does its claim. Where there is no room any more, the next byte is refused.
          partBytes = await drafts.use(id, async (open, held) => {
            await claimOf(open, held).catch((error) => {
              if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
            });
            return open.draft.partBytes;
          });
        } catch (error) {
          if (!AppError.is(error, 'RECORD_NOT_FOUND')) throw error;
          const done = await publishedAlready(options, session, signal);
          if (!done) throw error;
          return { ...(await published(parts, session, done.operation, done)), partBytes };
        }
      }
      return { ...session, partBytes };
    },
    writeRange: (id, offsetBytes, content, signal) =>
      drafts.use(id, async (open, held) => {
        const claim = await claimOf(open, held);
        const bounded = claim.bytes === Number.POSITIVE_INFINITY ? content : withinClaim(content, claim, offsetBytes);
        await open.draft.write(offsetBytes, bounded, { signal, caller: `user ${open.session.userId}` });
      }),
    writeWhole: (id, file, content, signal) => writeWhole(parts, id, file, content, signal),
    async sync(id, keptBytes) {
      const session = await findSession(store, id);
      if (session.hasDraft) await drafts.use(id, (open) => syncDraft(drafts, open));
      else {
        const operation = await options.operationOf(session.userId, AbortSignal.timeout(RELEASE_MS));
        await heldDuring(operation, session, Math.max(session.sizeBytes, keptBytes), async () => session);
      }
      await store.touch(id, expiry());
    },
    commit: (id, file, signal) => commit(parts, id, file, signal),
    abort: (id) => abortSession(parts, id),
    async makeFolder(userId, path, signal) {
      const operation = await options.operationOf(userId, signal);
      const wanted = parseVirtualPath(path);
      const located = await requireEntry(operation, wanted);
      // A mount, or what leads to one.
      if (operation.snapshot.table.isProtected(wanted)) return;
      const driver = await located.mount.driver();
      if (!supports(driver, 'makeDirectory')) return;
      await driver.makeDirectory(located.path, { signal });
      operation.changes.entryChanged(wanted);
    },
    async sweep() {
      // Used last before the clock was set back: it goes after so long without use by the clock as it is now.
      for (const id of await store.findAhead(new Date(clock() + 2 * IDLE_MS))) await store.touch(id, expiry());
      for (
        let expired = await store.findExpired(new Date(clock()));
        expired.length > 0;
        expired = await store.findExpired(new Date(clock()))
      )
        // One that cannot be taken away must not stand in the way of others.
        for (const { id } of expired) await abortSession(parts, id).catch(() => store.touch(id, new Date(clock() + RETRY_SWEEP_MS)));
      await options.spool?.sweep(async (id) => (await store.find(id)) !== undefined);
    },
    close: () => drafts.releaseAll(),
  };
}
