import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import type { Actor } from './permissions.ts';

/** What is known of the bytes below base paths. Every step is atomic in the store, also among replicas. */
export interface QuotaLedger {
  /**
   * Adds a claim when everything that is held and the claim fit under the limit.
   * @returns `uncounted` where nobody has counted yet what is there, or must again
   */
  claim(owner: VirtualPath, claim: string, bytes: number, limitBytes: number): Promise<'claimed' | 'full' | 'uncounted'>;
  /** Makes a claim bigger, under the same condition. */
  extend(owner: VirtualPath, claim: string, bytes: number, limitBytes: number): Promise<boolean>;
  /** Tells that the work behind a claim goes on. */
  renew(owner: VirtualPath, claim: string): Promise<void>;
  /** Puts what was written in the place of a claim of so many bytes. */
  settle(owner: VirtualPath, claim: string, claimedBytes: number, writtenBytes: number): Promise<void>;
  /** Something was removed: where there seems to be no room, a count is due. */
  age(owner: VirtualPath): Promise<void>;
  /** The next claim must wait for a count: what is there has changed in a way nobody has added up. */
  forget(owner: VirtualPath): Promise<void>;
  /** Drops claims whose work ended without a word. @returns whether there were any; then a count is due */
  dropExpired(owner: VirtualPath): Promise<boolean>;
  /** When the last count began, in milliseconds since 1970. */
  countedAt(owner: VirtualPath): Promise<number>;
  /** Puts what a count finds in the place of what was known; what is written while it runs is added. */
  count(owner: VirtualPath, count: () => Promise<number>): Promise<void>;
}

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
  /** Nobody knows how much was written: it is counted before the next claim. */
  abandon(): Promise<void>;
}

/** Keeps what users store below their base paths within their quotas. */
export interface Quotas {
  /** Whether somebody has a quota at all. */
  limits(actor: Actor): boolean;
  /**
   * Claims bytes before the first of them is written.
   * @param count adds up what is below the actor's base path; asked only when it is not known, or when there seems to be no room.
   * @throws AppError QUOTA_EXCEEDED; what `count` throws
   */
  claim(actor: Actor, bytes: number, count: () => Promise<number>): Promise<Claim>;
  /** Something was removed: there may be more room than is known. */
  freed(actor: Actor): Promise<void>;
}

/** How long a claim holds whose work is not heard of, and how often it is renewed, in milliseconds. */
export const CLAIM_LEASE_MS = 600_000;
const RENEW_EVERY_MS = 120_000;
/** Where there seems to be no room, a count may be this old, in milliseconds: others remove files too. */
const MAX_COUNT_AGE_MS = 60_000;
/** A count is of no use when files are removed while it runs. */
const MAX_COUNTS = 5;

const UNLIMITED: Claim = {
  bytes: Number.POSITIVE_INFINITY,
  extend: async () => {},
  settle: async () => {},
  release: async () => {},
  abandon: async () => {},
};

/** Nobody has a quota. */
export const NO_QUOTAS: Quotas = { limits: () => false, claim: async () => UNLIMITED, freed: async () => {} };

/**
 * Quotas over one ledger.
 *
 * @returns what makes them of the limits in bytes by user; who is not listed has none
 */
export function createQuotas(ledger: QuotaLedger, clock: () => number): (limits: ReadonlyMap<number, number>) => Quotas {
  const counting = new Map<VirtualPath, Promise<void>>();
  /** Whoever asks while somebody counts already waits for that one. */
  const countOnce = (owner: VirtualPath, count: () => Promise<number>): Promise<void> => {
    const running = counting.get(owner) ?? ledger.count(owner, count).finally(() => counting.delete(owner));
    counting.set(owner, running);
    return running;
  };
  return (limits) => ({
    limits: (actor) => limits.has(actor.id),
    async claim(actor, bytes, count) {
      const limit = limits.get(actor.id);
      if (limit === undefined) return UNLIMITED;
      const owner = actor.basePath;
      const wanted = { owner, id: randomBytes(12).toString('hex'), bytes, limit };
      await claimRoom(ledger, wanted, () => countOnce(owner, count), clock);
      return openClaim(ledger, wanted);
    },
    async freed(actor) {
      if (limits.has(actor.id)) await ledger.age(actor.basePath);
    },
  });
}

interface Wanted {
  readonly owner: VirtualPath;
  readonly id: string;
  readonly bytes: number;
  readonly limit: number;
}

async function claimRoom(ledger: QuotaLedger, wanted: Wanted, count: () => Promise<void>, clock: () => number): Promise<void> {
  const { owner, id, bytes, limit } = wanted;
  for (let counts = 0; counts < MAX_COUNTS; counts += 1) {
    const outcome = await ledger.claim(owner, id, bytes, limit);
    if (outcome === 'claimed') return;
    if (outcome === 'full' && !(await ledger.dropExpired(owner)) && clock() - (await ledger.countedAt(owner)) <= MAX_COUNT_AGE_MS)
      throw exceeded(limit);
    await count();
  }
  throw new AppError('STALE_VERSION', 'your files change too fast to be counted, try again');
}

function openClaim(ledger: QuotaLedger, { owner, id, bytes, limit }: Wanted): Claim {
  let claimed = bytes;
  const renewing = setInterval(() => void ledger.renew(owner, id).catch(() => undefined), RENEW_EVERY_MS);
  renewing.unref();
  const end = async (writtenBytes: number) => {
    clearInterval(renewing);
    await ledger.settle(owner, id, claimed, writtenBytes);
  };
  return {
    get bytes() {
      return claimed;
    },
    async extend(more) {
      if (!(await ledger.extend(owner, id, more, limit))) throw exceeded(limit);
      claimed += more;
    },
    settle: end,
    release: () => end(0),
    async abandon() {
      await ledger.forget(owner);
      await end(0);
    },
  };
}

function exceeded(limitBytes: number): AppError {
  return new AppError('QUOTA_EXCEEDED', `quota exceeded: your files may have ${limitBytes} bytes in all`);
}

/** Asked for at a time where the size of a content is not known beforehand, while there is room for as much. */
const STEP_BYTES = 4 * 1024 * 1024;

/** Passes a content on while its bytes are claimed. @throws AppError QUOTA_EXCEEDED before the first byte that has no room */
export async function* withinClaim(content: AsyncIterable<Uint8Array>, claim: Claim): AsyncGenerator<Uint8Array, void> {
  let passedBytes = 0;
  for await (const chunk of content) {
    passedBytes += chunk.byteLength;
    const missing = passedBytes - claim.bytes;
    if (missing > 0) await claim.extend(Math.max(missing, STEP_BYTES)).catch(() => claim.extend(missing));
    yield chunk;
  }
}
