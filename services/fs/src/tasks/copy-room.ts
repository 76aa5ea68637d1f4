import type { CopiedFile } from '../domain/changing/copy-file.ts';
import { claimRoom } from '../domain/changing/operations/claim-room.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { isOutcomeKnown } from '../domain/changing/upload.ts';

/** The room that the files of one copy take. */
export interface CopyRoom {
  /**
   * Copies one file. `take` claims what it has now that it is open: it may have grown since it was listed.
   * @throws AppError QUOTA_EXCEEDED by `take`; what `copy` throws
   */
  during(copy: (take: (bytes: number) => Promise<void>) => Promise<CopiedFile>): Promise<CopiedFile>;
}

/** Of those who have no quota, and of moves. */
export const ANY_ROOM: CopyRoom = { during: (copy) => copy(async () => {}) };

/**
 * Copies files within the caller's quota: what was listed is claimed before the first of them, and what is written is counted in the end.
 *
 * @param listedBytes of files that are still to be copied. @throws AppError QUOTA_EXCEEDED; what `copy` throws
 */
export async function withCopyRoom(operation: Operation, listedBytes: number, copy: (room: CopyRoom) => Promise<void>): Promise<void> {
  if (!operation.snapshot.quotas.limits(operation.actor)) return copy(ANY_ROOM);
  const claim = await claimRoom(operation, listedBytes);
  let claimedBytes = listedBytes;
  /** Of files that are there, or on their way. */
  let usedBytes = 0;
  let isUncertain = false;
  const room: CopyRoom = {
    async during(copyOne) {
      let ownBytes = 0;
      const use = (bytes: number) => {
        usedBytes += bytes - ownBytes;
        ownBytes = bytes;
      };
      try {
        const copied = await copyOne(async (bytes) => {
          const before = ownBytes;
          use(bytes);
          const missing = usedBytes - claimedBytes;
          if (missing <= 0) return;
          claimedBytes += missing;
          await claim.extend(missing).catch((error) => {
            claimedBytes -= missing;
            use(before);
            throw error;
          });
        });
        use(copied.target.sizeBytes ?? copied.source.sizeBytes ?? copied.readBytes ?? 0);
        return copied;
      } catch (error) {
        if (isOutcomeKnown(error)) use(0);
        else isUncertain = true;
        throw error;
      }
    },
  };
  try {
    await copy(room);
  } finally {
    await (isUncertain ? claim.abandon(usedBytes) : claim.settle(usedBytes));
  }
}
