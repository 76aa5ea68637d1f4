import { randomBytes } from 'node:crypto';
import type { AuditRecord, Models } from '@wharf/models';
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

export interface AuditStore {
  insert(entry: AuditEntry): Promise<void>;
  /** The newest first. */
  list(
    filter: AuditFilter,
    slice: { skip: number; limit: number },
  ): Promise<(Omit<AuditEntry, 'action'> & { id: string; action: string })[]>;
  count(filter: AuditFilter): Promise<number>;
  /** Forgets the oldest entries beyond {@link MAX_ENTRIES}. */
  trim(): Promise<void>;
}

/** The embedded store holds some 200,000 documents in all. */
const MAX_ENTRIES = 50_000;

export function createAuditStore({ audit }: Models, maxEntries = MAX_ENTRIES): AuditStore {
  return {
    async insert({ at, action, userId, username, address, target, detail }) {
      // Ids are in the order of time.
      const _id = `${at.toISOString()} ${randomBytes(8).toString('hex')}`;
      await audit.create({ _id, at, action, user_id: userId, username, address, target, detail });
    },
    async list(filter, { skip, limit }) {
      const records = await audit.find(queryOf(filter)).sort({ _id: -1 }).skip(skip).limit(limit).lean<AuditRecord[]>();
      return records.map(({ _id: id, user_id: userId, at, action, username, address, target, detail }) => ({
        id,
        at,
        action,
        userId,
        username,
        address,
        target,
        detail,
      }));
    },
    count: (filter) => audit.countDocuments(queryOf(filter)).exec(),
    async trim() {
      const [oldestTooMany] = await audit.find().sort({ _id: -1 }).skip(maxEntries).limit(1).lean<AuditRecord[]>();
      if (oldestTooMany) await audit.deleteMany({ _id: { $lte: oldestTooMany._id } });
    },
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
