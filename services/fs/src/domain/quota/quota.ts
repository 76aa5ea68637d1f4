import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { isYounger } from '@wharf/pace';
import { baseName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { createSharedWork } from '../../driver-contract/shared-work.ts';
import { ownRefusal } from '../access/own-refusal.ts';
import type { Actor } from '../access/permissions.ts';

/** What is known of the bytes below base paths. Every step is atomic in the store, also among replicas. */
export interface QuotaLedger {
  /**
   * Adds a claim when it fits under the limit together with everything that is held.
   * @param trust `counted`: what is there must have been counted; `known`: what is known is taken for all there is; `meanwhile`: the same, for this claim alone.
   * @returns `uncounted` when what is there must be counted first
   */
  claim(owner: VirtualPath, claim: string, bytes: number, limitBytes: number, trust: Trust): Promise<Claimed>;
  /** Makes a claim bigger, under the same condition. */
  extend(owner: VirtualPath, claim: string, bytes: number, limitBytes: number): Promise<boolean>;
  /**
   * Makes a claim of this name and at least this size, or renews and enlarges the one that is there. The bytes that it grows by must fit
   * under the limit.
   * @param leaseMs how long it stays without being renewed. @returns as claim()
   */
  hold(owner: VirtualPath, claim: string, bytes: number, limitBytes: number, trust: Trust, leaseMs: number): Promise<Claimed>;
  /** Puts what was written in the place of a claim, however big it has become. */
  end(owner: VirtualPath, claim: string, writtenBytes: number): Promise<void>;
  /** Keeps a claim alive: its work goes on. */
  renew(owner: VirtualPath, claim: string, leaseMs: number): Promise<void>;
  /** Puts what was written in the place of a claim of so many bytes. */
  settle(owner: VirtualPath, claim: string, claimedBytes: number, writtenBytes: number): Promise<void>;
  /** Notes that something was removed. The next claim that finds no room makes a new count. */
  age(owner: VirtualPath): Promise<void>;
  /** Makes the next claim wait for a count: what is there has changed, by so many bytes at most, which count as written until then. */
  forget(owner: VirtualPath, atMostBytes: number): Promise<void>;
  /** Takes claims that were not renewed in time for written. @returns whether there were any; then a count is due */
  dropExpired(owner: VirtualPath): Promise<boolean>;
  /** When the last count began, in milliseconds since 1970. */
  countedAt(owner: VirtualPath): Promise<number>;
  /**
   * Replaces what was known by what `count` finds. What is written while it runs is added. Nothing is replaced when entries were moved
   * meanwhile: the walk may have missed them. Only where nothing is known what it found is taken for the least there is.
   */
  count(owner: VirtualPath, count: () => Promise<number>): Promise<void>;
  /** Entries are moved from now on, until {@link relocated} of this name or the end of a lease that is not renewed. */
  relocate(owners: readonly VirtualPath[], name: string): Promise<void>;
  relocated(owners: readonly VirtualPath[], name: string): Promise<void>;
  /** How often entries began to be moved; undefined while some are. */
  relocations(owner: VirtualPath): Promise<number | undefined>;
}

export type Trust = 'counted' | 'known' | 'meanwhile';
export type Claimed = 'claimed' | 'full' | 'uncounted';

/** A claim on bytes for one piece of work. It must be ended by one of settle(), release() and abandon(). */
export interface Claim {
  /** Bytes claimed so far; infinite for somebody without a quota. */
  readonly bytes: number;
  /** @throws AppError QUOTA_EXCEEDED */
  extend(bytes: number): Promise<void>;
  /** So much was written. */
  settle(writtenBytes: number): Promise<void>;
  /** Nothing was written. */
  release(): Promise<void>;
  /** Nobody knows how much was written, but not more than this, or than was claimed: it is counted before the next claim. */
  abandon(atMostBytes?: number): Promise<void>;
}

/** A claim that other processes may go on with, by its name. Whoever made it need not end it: another process may, or it runs out. */
export interface HeldClaim extends Claim {
  /** Stops renewing the claim, which then holds for its lease from the last renewal. Safe twice. */
  letGo(): void;
}

/**
 * Adds up what is below a base path. Several callers share one count. It has a signal of its own: a caller that goes away does not end it.
 */
type Count = (signal: AbortSignal) => Promise<number>;

/** What a held claim is over. */
export interface HeldRoom {
  readonly name: string;
  readonly bytes: number;
  readonly leaseMs?: number | undefined;
}

/** What one user may store, and where it is counted. */
export interface Limit {
  readonly bytes: number;
  readonly basePath: VirtualPath;
}

/** Entries of one folder. */
export interface Relocated {
  readonly folder: VirtualPath;
  /** Absent: all of them. */
  readonly names?: Iterable<string>;
}

/** Entries by their paths, each in a folder of its own. */
export function relocatedAt(...paths: readonly VirtualPath[]): Relocated[] {
  return paths.map((path) => {
    const name = baseName(path);
    return { folder: parentPath(path), ...(name !== undefined && { names: [name] }) };
  });
}

/** Keeps what users store below their base paths within their quotas. */
export interface Quotas {
  /** Whether somebody has a quota at all. */
  limits(actor: Actor): boolean;
  /**
   * Claims bytes before the first of them is written.
   * @param count adds up what is below the actor's base path; asked only when it is not known, or when there seems to be no room.
   * @param signal the caller waits for a count no longer.
   * @throws AppError QUOTA_EXCEEDED; what `count` throws, but where a storage cannot be counted and what is known leaves room
   */
  claim(actor: Actor, bytes: number, count: Count, signal: AbortSignal): Promise<Claim>;
  /**
   * The same for work that goes on in other processes: one claim for all who give its name, of so many bytes at least. Where it has run out
   * meanwhile it is made anew.
   * @param held.name letters, digits and `-`. @param held.leaseMs {@link CLAIM_LEASE_MS} by default.
   * @param signal of whoever holds it: it may grow later. @throws AppError QUOTA_EXCEEDED; what `count` throws
   */
  hold(actor: Actor, held: HeldRoom, count: Count, signal: AbortSignal): Promise<HeldClaim>;
  /** Ends a held claim from wherever it was made; one that is not there is success. */
  end(actor: Actor, name: string, writtenBytes: number): Promise<void>;
  /** Something was removed: there may be more room than is known. */
  freed(actor: Actor): Promise<void>;
  /**
   * Does work that gives these entries, or what comes to their names, other places. What is counted meanwhile is not believed, for anybody whose files it may
   * concern.
   */
  relocating<Result>(entries: readonly Relocated[], work: () => Promise<Result>): Promise<Result>;
  /** A move by copying failed at, below or into these paths: so much may be there twice, and is counted before the next claim. */
  uncounted(paths: readonly VirtualPath[], atMostBytes: number): Promise<void>;
  /** Adds something up. @returns undefined where entries were moved meanwhile: then the sum may lack some */
  undisturbed(actor: Actor, sum: () => Promise<number>): Promise<number | undefined>;
}

/** How long a claim holds whose work is not heard of, and how often it is renewed, in milliseconds. */
export const CLAIM_LEASE_MS = 600_000;
const RENEW_EVERY_MS = 120_000;
/** Where there seems to be no room, a count may be this old, in milliseconds: others remove files too. */
const MAX_COUNT_AGE_MS = 60_000;
/** Counts, and claims after counts of others. A count is of no use when files are removed while it runs. */
const MAX_TRIES = 8;

/** Where a storage cannot be counted, nothing is counted again so soon, in milliseconds: all others would be walked through for each upload. */
const COUNT_AGAIN_MS = 30_000;
const MAX_UNCOUNTABLE = 1_000;

const UNLIMITED: HeldClaim = {
  bytes: Number.POSITIVE_INFINITY,
  extend: async () => {},
  settle: async () => {},
  release: async () => {},
  abandon: async () => {},
  letGo: () => {},
};

/** Nobody has a quota. @internal for tests of the domain */
export const NO_QUOTAS: Quotas = {
  limits: () => false,
  claim: async () => UNLIMITED,
  hold: async () => UNLIMITED,
  end: async () => {},
  freed: async () => {},
  relocating: (_paths, work) => work(),
  uncounted: async () => {},
  undisturbed: (_actor, sum) => sum(),
};

/**
 * Quotas over one ledger.
 *
 * @returns what makes them of the limits by user; who is not listed has none
 */
export function createQuotas(ledger: QuotaLedger, clock: () => number): (limits: ReadonlyMap<number, Limit>) => Quotas {
  const share = createSharedWork<VirtualPath>();
  const uncountable = new LRUCache<VirtualPath, AppError>({ max: MAX_UNCOUNTABLE, ttl: COUNT_AGAIN_MS });
  const countOnce = async (owner: VirtualPath, count: Count, signal: AbortSignal): Promise<void> => {
    const known = uncountable.get(owner);
    if (known) throw known;
    await share(owner, signal, (until) => ledger.count(owner, () => count(until))).catch((error) => {
      if (isUncountable(error)) uncountable.set(owner, AppError.from(error));
      throw error;
    });
  };
  return (limits) => ({
    limits: (actor) => limits.has(actor.id),
    async claim(actor, bytes, count, signal) {
      const limit = limits.get(actor.id)?.bytes;
      if (limit === undefined) return UNLIMITED;
      const owner = actor.basePath;
      const wanted = { owner, id: randomBytes(12).toString('hex'), bytes, limit };
      await claimRoom(ledger, wanted, {
        claim: (trust) => ledger.claim(owner, wanted.id, bytes, limit, trust),
        count: () => countOnce(owner, count, signal),
        clock,
      });
      const claimed = { bytes };
      return openClaim(ledger, wanted, {
        claimed,
        leaseMs: CLAIM_LEASE_MS,
        async extend(more) {
          if (!(await ledger.extend(owner, wanted.id, more, limit))) throw exceeded(limit);
          claimed.bytes += more;
        },
        end: (writtenBytes) => ledger.settle(owner, wanted.id, claimed.bytes, writtenBytes),
      });
    },
    async hold(actor, { name, bytes, leaseMs = CLAIM_LEASE_MS }, count, signal) {
      const limit = limits.get(actor.id)?.bytes;
      if (limit === undefined) return UNLIMITED;
      const wanted = { owner: actor.basePath, id: name, bytes, limit };
      const reach = (reached: number) =>
        claimRoom(ledger, wanted, {
          claim: (trust) => ledger.hold(wanted.owner, name, reached, limit, trust, leaseMs),
          count: () => countOnce(wanted.owner, count, signal),
          clock,
        });
      await reach(bytes);
      const claimed = { bytes };
      return openClaim(ledger, wanted, {
        claimed,
        leaseMs,
        async extend(more) {
          const reached = claimed.bytes + more;
          await reach(reached);
          claimed.bytes = Math.max(claimed.bytes, reached);
        },
        end: (writtenBytes) => ledger.end(wanted.owner, name, writtenBytes),
      });
    },
    async end(actor, name, writtenBytes) {
      if (limits.has(actor.id)) await ledger.end(actor.basePath, name, writtenBytes);
    },
    async freed(actor) {
      if (limits.has(actor.id)) await ledger.age(actor.basePath);
    },
    relocating: (entries, work) => relocating(ledger, concerned(limits, entries), work),
    async uncounted(paths, atMostBytes) {
      for (const owner of concerned(limits, relocatedAt(...paths))) await ledger.forget(owner, atMostBytes);
    },
    async undisturbed(actor, sum) {
      const before = await ledger.relocations(actor.basePath);
      const bytes = await sum();
      return before !== undefined && before === (await ledger.relocations(actor.basePath)) ? bytes : undefined;
    },
  });
}

/** Base paths above, at or below any of these entries: of all that lie in one folder those alone whose entries they are, for each costs a write. */
function concerned(limits: ReadonlyMap<number, Limit>, entries: readonly Relocated[]): VirtualPath[] {
  if (limits.size === 0) return [];
  const bases = new Set([...limits.values()].map(({ basePath }) => basePath));
  const places = entries.map(({ folder, names }) => ({ folder, names: names && new Set(Iterator.from(names).map(folded)) }));
  return [...bases].filter((base) =>
    places.some(({ folder, names }) => {
      if (isWithin(base, folder)) return true;
      if (!isWithin(folder, base)) return false;
      const [name = ''] = base.slice(folder === '/' ? 1 : folder.length + 1).split('/', 1);
      return names === undefined || names.has(folded(name));
    }),
  );
}

/** A disk may take another spelling for the same name. */
function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

async function relocating<Result>(ledger: QuotaLedger, owners: readonly VirtualPath[], work: () => Promise<Result>): Promise<Result> {
  if (owners.length === 0) return work();
  const name = `moving-${randomBytes(12).toString('hex')}`;
  await ledger.relocate(owners, name);
  const renewals = owners.map((owner) => keepRenewing(ledger, owner, name, CLAIM_LEASE_MS));
  try {
    return await work();
  } finally {
    for (const letGo of renewals) letGo();
    // What cannot be said ends with its lease.
    await ledger.relocated(owners, name).catch(() => undefined);
  }
}

interface Wanted {
  readonly owner: VirtualPath;
  readonly id: string;
  readonly bytes: number;
  readonly limit: number;
}

interface Claiming {
  readonly claim: (trust: Trust) => Promise<Claimed>;
  readonly count: () => Promise<void>;
  readonly clock: () => number;
}

async function claimRoom(ledger: QuotaLedger, { owner, limit }: Wanted, { claim, count, clock }: Claiming): Promise<void> {
  let knownCount: number | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const outcome = await claim('counted');
    if (outcome === 'claimed') return;
    if (outcome === 'full' && !(await ledger.dropExpired(owner))) {
      const countedAt = await ledger.countedAt(owner);
      if (isYounger(countedAt, clock(), MAX_COUNT_AGE_MS)) {
        // A new count may have come between the claim and this check. There is no room only when both saw the same count.
        if (countedAt === knownCount) throw exceeded(limit);
        knownCount = countedAt;
        continue;
      }
    }
    const failure = await count().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) continue;
    // A storage that is away keeps nobody from the others: what is known is enough where there is room, and the next claim counts again.
    if (!isUncountable(failure)) throw failure;
    if ((await claim('meanwhile')) === 'claimed') return;
    throw failure;
  }
  // Whoever goes on moving entries stops nobody else: what is known, of earlier counts and all that was written since, is enough where there is room.
  if ((await claim('known')) === 'claimed') return;
  throw new AppError('STALE_VERSION', 'your files change too fast to be counted, try again');
}

/** Whether a storage cannot be counted: it is away, or has a folder of more names than are listed. A count that takes too long would take as long each time. */
function isUncountable(error: unknown): boolean {
  return (['STORAGE_UNAVAILABLE', 'UNSUPPORTED_OPERATION', 'INTERNAL'] as const).some((code) => AppError.is(error, code));
}

/** What is particular to a claim. */
interface ClaimSteps {
  /** What is claimed so far. */
  readonly claimed: { readonly bytes: number };
  readonly leaseMs: number;
  extend(bytes: number): Promise<void>;
  end(writtenBytes: number): Promise<void>;
}

/** A claim that was made, renewed until it ends. */
function openClaim(ledger: QuotaLedger, { owner, id }: Wanted, { claimed, leaseMs, extend, end }: ClaimSteps): HeldClaim {
  const letGo = keepRenewing(ledger, owner, id, leaseMs);
  const settle = async (writtenBytes: number) => {
    letGo();
    await end(writtenBytes);
  };
  return {
    get bytes() {
      return claimed.bytes;
    },
    extend,
    settle,
    release: () => settle(0),
    async abandon(atMostBytes = claimed.bytes) {
      await ledger.forget(owner, 0);
      await settle(atMostBytes);
    },
    letGo,
  };
}

/** @returns what stops it */
function keepRenewing(ledger: QuotaLedger, owner: VirtualPath, claim: string, leaseMs: number): () => void {
  const renewing = setInterval(() => void ledger.renew(owner, claim, leaseMs).catch(() => undefined), RENEW_EVERY_MS);
  renewing.unref();
  return () => clearInterval(renewing);
}

function exceeded(limitBytes: number): AppError {
  return ownRefusal('QUOTA_EXCEEDED', `quota exceeded: your files may have ${limitBytes} bytes in all`);
}

/** How much is claimed at a time when the size of a content is not known, as long as there is room for that. */
const STEP_BYTES = 4 * 1024 * 1024;

/**
 * Passes a content on while its bytes are claimed.
 *
 * @param offsetBytes where in its file it begins. @throws AppError QUOTA_EXCEEDED before the first byte that has no room
 */
export async function* withinClaim(content: AsyncIterable<Uint8Array>, claim: Claim, offsetBytes = 0): AsyncGenerator<Uint8Array, void> {
  let passedBytes = offsetBytes;
  for await (const chunk of content) {
    passedBytes += chunk.byteLength;
    const missing = passedBytes - claim.bytes;
    if (missing > 0) await claim.extend(Math.max(missing, STEP_BYTES)).catch(() => claim.extend(missing));
    yield chunk;
  }
}
