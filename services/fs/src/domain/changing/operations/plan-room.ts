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

/** What an entry takes, in bytes: in the listing of its folder, among those that are gone through by name, and with its way to another name. Measured, rounded up. */
export const PLAN_BYTES = { listed: 100, sorted: 320, placed: 1_200 } as const;

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
 * that a short request may make a long plan. @internal exported for its test
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
