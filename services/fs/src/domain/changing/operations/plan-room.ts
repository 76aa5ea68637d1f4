import { getHeapStatistics } from 'node:v8';
import { AppError } from '@wharf/errors';

const MIB = 1024 * 1024;
/** What the plans of all may hold together, whatever memory there is. */
const MAX_BYTES = 320 * MIB;
/** As a fraction of the heap. */
const HEAP_SHARES = 4;
/** The share of one caller, as a fraction of that. */
const SHARES = 2;
/** A plan of no more is not counted: it goes on while long ones take all there is. */
const UNCOUNTED_BYTES = MIB / 4;

/** Names and paths of so many letters are in what an entry takes. */
const SHORT_LENGTH = 100;
/** What each letter beyond that takes, where one of the text is not Latin. */
const LETTER_BYTES = 2;
const beyondShort = (length: number) => LETTER_BYTES * Math.max(0, length - SHORT_LENGTH);

/**
 * What an entry takes, in bytes: in the listing of its folder, among those that are gone through by name, and with its way to another name, or away. Measured,
 * rounded up. Each takes the length of its name, or of its paths: one is in the tree, and in its storage.
 */
export const PLAN_BYTES = {
  listed: (length: number) => 100 + beyondShort(length),
  sorted: (length: number) => 320 + beyondShort(length),
  placed: (...lengths: readonly number[]) => lengths.reduce((sum, length) => sum + 2 * beyondShort(length), 1_200),
  removed: (length: number) => 320 + 2 * beyondShort(length),
} as const;

/** What one plan has of the room. */
export interface PlanShare {
  /** @throws AppError FAILED_PRECONDITION: by itself it is too long | OVERLOADED: others take the room */
  take(bytes: number): void;
  /** Gives so much of it back, all when absent: that is safe twice. */
  leave(bytes?: number): void;
}

/** Begins a plan of a caller, which has no room yet. */
export type EnterPlan = (caller: string) => PlanShare;

/**
 * Bounds what changes of many entries hold from the first look to the last step, however many are asked for at once: their entries come out of folders, so
 * that a short request may make a long plan, and a list of short names in a deep folder is one of long paths. @internal exported for its test
 */
export function createPlanRoom(maxBytes = Math.min(MAX_BYTES, getHeapStatistics().heap_size_limit / HEAP_SHARES)): EnterPlan {
  const takenBy = new Map<string, number>();
  let takenInAll = 0;
  const most = maxBytes / SHARES;
  return (caller) => {
    let own = 0;
    const count = (bytes: number) => {
      own += bytes;
      takenInAll += bytes;
      const taken = (takenBy.get(caller) ?? 0) + bytes;
      if (taken > 0) takenBy.set(caller, taken);
      else takenBy.delete(caller);
      return taken;
    };
    return {
      take(bytes) {
        const taken = count(bytes);
        if (own <= UNCOUNTED_BYTES) return;
        if (own > most) throw new AppError('FAILED_PRECONDITION', 'these are too many entries for one request: take a part of them');
        if (taken > most || takenInAll > maxBytes)
          throw new AppError('OVERLOADED', 'too many entries are being changed at once: try again in a moment');
      },
      leave(bytes = own) {
        count(-bytes);
      },
    };
  };
}

/** The room of this process. */
export const PLANS: EnterPlan = createPlanRoom();
