import { createHash, randomBytes } from 'node:crypto';
import { type AuditRecord, isDuplicateKey, type Models, removeInSteps } from '@wharf/models';
import type { Slice } from '@wharf/pace';
import type { AuditEntry } from '../domain/audit.ts';

/** Which entries; what is undefined does not matter. */
interface AuditFilter {
  readonly action: string | undefined;
  readonly userId: number | undefined;
  readonly address: string | undefined;
  /** From this time, inclusive, until that, exclusive. */
  readonly since: Date | undefined;
  readonly until: Date | undefined;
}

/** An entry as it is shown: how often it happened, and when last. */
type AuditLine = Omit<AuditEntry, 'action'> & { id: string; action: string; count: number; lastAt: Date };

export interface AuditStore {
  insert(entry: AuditEntry): Promise<void>;
  /** Counts the entry with those of the same hour that differ from it in time alone. */
  insertRepeated(entry: AuditEntry): Promise<void>;
  /** The newest first. */
  list(filter: AuditFilter, slice: Slice): Promise<AuditLine[]>;
  count(filter: AuditFilter): Promise<number>;
}

/**
 * How many entries are kept besides what time forgets. A share is what one user did of one kind; only a share that is written to gives
 * something up, its own oldest entries, so that nobody pushes out what is known of others.
 */
interface AuditLimits {
  /** Of one share. */
  readonly share: number;
  /** In all; beyond it shares that are written to shrink to `least`. The embedded store holds some 200,000 documents. */
  readonly total: number;
  readonly least: number;
  /** Writes to a share between two looks at how many it has. */
  readonly lookEvery: number;
}

const LIMITS: AuditLimits = { share: 10_000, total: 50_000, least: 200, lookEvery: 100 };
const REPEAT_WINDOW_MS = 3_600_000;

export function createAuditStore({ audit }: Models, limits = LIMITS): AuditStore {
  /** By share: each is looked at with its first write through this process. */
  const writes = new Map<string, number>();

  const trim = async (share: { user_id: number; action: string }): Promise<void> => {
    const inShare = await audit.countDocuments(share);
    const surplus = Math.min((await audit.estimatedDocumentCount()) - limits.total, inShare - limits.least);
    const tooMany = Math.max(inShare - limits.share, surplus);
    if (tooMany <= 0) return;
    await removeInSteps(audit, share, { _id: 1 }, tooMany);
  };
  const insert = async ({ at, action, userId, username, address, target, detail }: AuditEntry, repeat: Partial<AuditRecord>) => {
    // Ids are in the order of time.
    const _id = `${at.toISOString()} ${randomBytes(8).toString('hex')}`;
    await audit.create({ _id, at, action, user_id: userId, username, address, target, detail, ...repeat });
    const share = `${userId} ${action}`;
    const written = writes.get(share) ?? 0;
    writes.set(share, written + 1);
    if (written % limits.lookEvery === 0) await trim({ user_id: userId, action });
  };

  return {
    insert: (entry) => insert(entry, {}),
    async insertRepeated(entry) {
      const { at, ...same } = entry;
      const hour = Math.floor(at.getTime() / REPEAT_WINDOW_MS);
      const repeat_key = createHash('sha256')
        .update(JSON.stringify([hour, same.action, same.userId, same.username, same.address, same.target, same.detail]))
        .digest('base64url');
      const countAgain = () => audit.findOneAndUpdate({ repeat_key }, { $inc: { count: 1 }, $max: { last_at: at } }).lean();
      if ((await countAgain()) !== null) return;
      try {
        await insert(entry, { repeat_key, count: 1, last_at: at });
      } catch (error) {
        // Another one was the first.
        if (!isDuplicateKey(error)) throw error;
        await countAgain();
      }
    },
    async list(filter, { skip, limit }) {
      const records = await audit.find(queryOf(filter)).sort({ _id: -1 }).skip(skip).limit(limit).lean<AuditRecord[]>();
      return records.map(
        ({ _id: id, user_id: userId, at, action, username, address, target, detail, count = 1, last_at: lastAt = at }) => ({
          id,
          at,
          action,
          userId,
          username,
          address,
          target,
          detail,
          count,
          lastAt,
        }),
      );
    },
    count: (filter) => audit.countDocuments(queryOf(filter)).exec(),
  };
}

function queryOf({ action, userId, address, since, until }: AuditFilter) {
  const from = since === undefined ? {} : { $gte: since };
  const to = until === undefined ? {} : { $lt: until };
  return {
    ...(action === undefined ? {} : { action }),
    ...(userId === undefined ? {} : { user_id: userId }),
    ...(address === undefined ? {} : { address }),
    ...(since === undefined && until === undefined ? {} : { at: { ...from, ...to } }),
  };
}
