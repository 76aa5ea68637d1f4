import type { Models, QuotaLedgerRecord } from '@wharf/models';
import { lasts } from '@wharf/pace';
import { CLAIM_LEASE_MS, type QuotaLedger, type Trust } from '../domain/quota/quota.ts';

/** The time of a ledger of which nothing is known. */
const NEVER = new Date(0);
/** The time of one that waits for a count, and holds more than there is until then. */
const FORGOTTEN = new Date(1);
/** The time of one whose count is too old to be relied on where there seems to be no room. */
const LONG_AGO = new Date(2);

const leaseFrom = (clock: () => number, leaseMs = CLAIM_LEASE_MS) => new Date(clock() + leaseMs);
/** No lease is longer, in milliseconds: that of an upload that nobody goes on with, and more. */
const LONGEST_LEASE_MS = 3 * 86_400_000;
/** Claims of a base path beyond which those that have run out are dropped before there is another one: each step reads and writes all of them. */
const MANY = 1_000;
/** Claims that one step drops. */
const DROPPED_AT_ONCE = 200;
const isCounted = ({ counted_at }: QuotaLedgerRecord) => counted_at > FORGOTTEN;
/** Of ledgers that may be relied on, and what becomes of them. */
const TRUSTED: Readonly<Record<Trust, { readonly filter: object; readonly change: { readonly $max?: object } }>> = {
  counted: { filter: { counted_at: { $gt: FORGOTTEN } }, change: {} },
  known: { filter: {}, change: { $max: { counted_at: LONG_AGO } } },
  meanwhile: { filter: {}, change: {} },
};
const readerOf = (quotaLedgers: Models['quotaLedgers']) => async (owner: string) => quotaLedgers.findById(owner).lean<QuotaLedgerRecord>();

/**
 * The ledgers of quotas, one document for each base path. A claim compares one number, `held_bytes`, and raises it in the same step, so
 * that claims in parallel never add up to more than the limit, whichever replica makes them.
 */
export function createQuotaLedger({ quotaLedgers }: Models, clock: () => number): QuotaLedger {
  return { ...createClaiming(quotaLedgers, clock), ...createCounting(quotaLedgers, clock) };
}

type Claiming = Omit<QuotaLedger, keyof Counting>;

function createClaiming(quotaLedgers: Models['quotaLedgers'], clock: () => number): Claiming {
  const read = readerOf(quotaLedgers);
  const dropExpired = createDropping(quotaLedgers, clock);
  return {
    async claim(owner, claim, bytes, limitBytes, trust) {
      const { filter, change } = TRUSTED[trust];
      const { matchedCount } = await quotaLedgers.updateOne(
        { _id: owner, ...filter, held_bytes: { $lte: limitBytes - bytes } },
        { $inc: { held_bytes: bytes }, $set: { [`claims.${claim}`]: { bytes, expires_at: leaseFrom(clock) } }, ...change },
      );
      if (matchedCount > 0) return 'claimed';
      const ledger = await read(owner);
      return ledger && isCounted(ledger) ? 'full' : 'uncounted';
    },
    async extend(owner, claim, bytes, limitBytes) {
      const { matchedCount } = await quotaLedgers.updateOne(
        { _id: owner, held_bytes: { $lte: limitBytes - bytes }, [`claims.${claim}.bytes`]: { $gte: 0 } },
        { $inc: { held_bytes: bytes, [`claims.${claim}.bytes`]: bytes }, $max: { [`claims.${claim}.expires_at`]: leaseFrom(clock) } },
      );
      return matchedCount > 0;
    },
    async hold(owner, claim, bytes, limitBytes, trust, leaseMs) {
      const { filter, change } = TRUSTED[trust];
      // Whoever changed the claim in between has got on: then it is looked at anew.
      for (;;) {
        const ledger = await read(owner);
        const known = ledger?.claims[claim]?.bytes;
        if (ledger && known === undefined && Object.keys(ledger.claims).length > MANY && (await dropExpired(owner))) continue;
        const missing = Math.max(0, bytes - (known ?? 0));
        const isThere = { [`claims.${claim}.bytes`]: known ?? { $exists: false } };
        const renewed = { [`claims.${claim}.expires_at`]: leaseFrom(clock, leaseMs) };
        if (known !== undefined && missing === 0) {
          const { matchedCount } = await quotaLedgers.updateOne({ _id: owner, ...isThere }, { $max: renewed });
          if (matchedCount > 0) return 'claimed';
          continue;
        }
        if (!ledger || (trust === 'counted' && !isCounted(ledger))) return 'uncounted';
        if (ledger.held_bytes > limitBytes - missing) return 'full';
        const { matchedCount } = await quotaLedgers.updateOne(
          { _id: owner, ...filter, held_bytes: { $lte: limitBytes - missing }, ...isThere },
          { $inc: { held_bytes: missing, [`claims.${claim}.bytes`]: missing }, $max: { ...renewed, ...change.$max } },
        );
        if (matchedCount > 0) return 'claimed';
      }
    },
    async end(owner, claim, writtenBytes) {
      for (;;) {
        const known = (await read(owner))?.claims[claim]?.bytes;
        const { matchedCount } = await quotaLedgers.updateOne(
          { _id: owner, [`claims.${claim}.bytes`]: known ?? { $exists: false } },
          {
            $inc: { held_bytes: writtenBytes - (known ?? 0), written_bytes: writtenBytes },
            $unset: { [`claims.${claim}`]: '' },
          },
        );
        // No match and no claim: nothing was ever counted.
        if (matchedCount > 0 || known === undefined) return;
      }
    },
    async renew(owner, claim, leaseMs) {
      await quotaLedgers.updateOne(
        { _id: owner, [`claims.${claim}.bytes`]: { $gte: 0 } },
        { $max: { [`claims.${claim}.expires_at`]: leaseFrom(clock, leaseMs) } },
      );
    },
    async settle(owner, claim, claimedBytes, writtenBytes) {
      const { matchedCount } = await quotaLedgers.updateOne(
        { _id: owner, [`claims.${claim}.bytes`]: { $gte: 0 } },
        { $inc: { held_bytes: writtenBytes - claimedBytes, written_bytes: writtenBytes }, $unset: { [`claims.${claim}`]: '' } },
      );
      // The claim ran out meanwhile and was dropped; what was written is there all the same.
      if (matchedCount === 0 && writtenBytes > 0)
        await quotaLedgers.updateOne({ _id: owner }, { $inc: { held_bytes: writtenBytes, written_bytes: writtenBytes } });
    },
    async forget(owner, atMostBytes) {
      await quotaLedgers.updateOne(
        { _id: owner },
        { $min: { counted_at: FORGOTTEN }, $inc: { held_bytes: atMostBytes, written_bytes: atMostBytes } },
      );
    },
    async age(owner) {
      await quotaLedgers.updateOne({ _id: owner }, { $min: { counted_at: LONG_AGO } });
    },
    dropExpired,
  };
}

function createDropping(quotaLedgers: Models['quotaLedgers'], clock: () => number): QuotaLedger['dropExpired'] {
  const read = readerOf(quotaLedgers);
  return async (owner) => {
    const claims = Object.entries((await read(owner))?.claims ?? {});
    const expired = claims.filter(([, { expires_at }]) => !lasts(expires_at.getTime(), clock(), LONGEST_LEASE_MS));
    for (let start = 0; start < expired.length; start += DROPPED_AT_ONCE) {
      const some = expired.slice(start, start + DROPPED_AT_ONCE);
      const asTheyWere = some.flatMap(([claim, { bytes, expires_at }]) => [
        [`claims.${claim}.bytes`, bytes],
        [`claims.${claim}.expires_at`, expires_at],
      ]);
      // Whoever held them may have written something: only a count tells.
      await quotaLedgers.updateOne(
        { _id: owner, ...Object.fromEntries(asTheyWere) },
        {
          $inc: { written_bytes: some.reduce((sum, [, { bytes }]) => sum + bytes, 0) },
          $unset: Object.fromEntries(some.map(([claim]) => [`claims.${claim}`, ''])),
          $min: { counted_at: FORGOTTEN },
        },
      );
    }
    return expired.length > 0;
  };
}

type Counting = Pick<QuotaLedger, 'countedAt' | 'count' | 'relocate' | 'relocated' | 'relocations'>;

/** Counts of what is there, and what makes them worthless: a walk may meet nowhere what is moved meanwhile. */
function createCounting(quotaLedgers: Models['quotaLedgers'], clock: () => number): Counting {
  const read = readerOf(quotaLedgers);
  /** @returns undefined while entries are moved */
  const relocationsOf = (ledger: QuotaLedgerRecord | null) =>
    Object.entries(ledger?.claims ?? {}).some(
      ([claim, { expires_at }]) => claim.startsWith('moving-') && lasts(expires_at.getTime(), clock(), 2 * CLAIM_LEASE_MS),
    )
      ? undefined
      : (ledger?.relocations ?? 0);
  return {
    countedAt: async (owner) => (await read(owner))?.counted_at.getTime() ?? 0,
    async count(owner, count) {
      const empty = { base_bytes: 0, written_bytes: 0, held_bytes: 0, counted_at: NEVER, claims: {} };
      await quotaLedgers.updateOne({ _id: owner }, { $setOnInsert: empty }, { upsert: true });
      const before = await read(owner);
      if (!before) return;
      const startedAt = new Date(clock());
      const relocations = relocationsOf(before);
      const base = (await count()) - before.written_bytes;
      // What is held is base, written and claims: only the base changes, so that nothing written or claimed meanwhile is lost.
      const since = { _id: owner, base_bytes: before.base_bytes, counted_at: before.counted_at };
      const counted = { $set: { base_bytes: base }, $inc: { held_bytes: base - before.base_bytes } };
      const undisturbed = { ...since, relocations: before.relocations ?? { $exists: false } };
      const isBelieved =
        relocations !== undefined &&
        (await quotaLedgers.updateOne(undisturbed, { ...counted, $set: { base_bytes: base, counted_at: startedAt } })).matchedCount > 0;
      if (!isBelieved && before.counted_at <= NEVER && base > before.base_bytes) await quotaLedgers.updateOne(since, counted);
    },
    async relocate(owners, name) {
      // A ledger that is not there yet is made: its first count may have begun.
      const empty = { base_bytes: 0, written_bytes: 0, held_bytes: 0, counted_at: NEVER };
      const begun = {
        $inc: { relocations: 1 },
        $set: { [`claims.${name}`]: { bytes: 0, expires_at: leaseFrom(clock) } },
        $setOnInsert: empty,
      };
      await quotaLedgers.bulkWrite(owners.map((_id) => ({ updateOne: { filter: { _id }, update: begun, upsert: true } })));
    },
    async relocated(owners, name) {
      await quotaLedgers.updateMany({ _id: { $in: [...owners] } }, { $unset: { [`claims.${name}`]: '' } });
    },
    relocations: async (owner) => relocationsOf(await read(owner)),
  };
}
