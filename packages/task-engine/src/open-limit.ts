import { AppError } from '@wharf/errors';
import { LRUCache } from 'lru-cache';
import type { NewTask } from './new-task.ts';
import { createOpenTally, type OpenTally } from './open-tally.ts';
import type { TaskCreator } from './task-kind.ts';

/** The most tasks of one user that have not ended. The store has no room for any number. */
const MAX_OPEN_OF_A_USER = 10_000;
/**
 * What tasks queue that are to end by it, such as the transfers of a download, may go so far beyond each limit. Else a queue that is full of
 * such tasks would never be worked off.
 */
const BEYOND_FOR_FOLLOW_UPS = 1.25;
/** So few tasks of a user go as far: three users who let theirs wait would keep everybody else from having any. */
const FEW = 50;
/** A replica counts a user's tasks again after it added this many, and those of all after this share of their limit. */
const COUNT_AFTER = 500;
const COUNT_ALL_AFTER = 0.1;
/** Users whose count is known. */
const MAX_KNOWN = 10_000;

/** A task that is about to be open: a new one, or one that had ended. */
export interface Opened extends Pick<NewTask<unknown>, 'id'> {
  readonly creator?: Pick<TaskCreator, 'id'> | undefined;
}

export interface OpenLimit {
  /**
   * Takes room for these tasks.
   *
   * @returns is to be called once they are in the store, or may be
   * @throws AppError RATE_LIMITED: their creator has too many, or all together have; with {@link isTooMany}, these alone are too many
   */
  take(tasks: readonly Opened[]): Promise<() => void>;
}

export interface OpenLimitOptions {
  /** Counts tasks that have not ended, of a user or of all, up to a limit. */
  readonly countOpen: (userId: number | undefined, limit: number) => Promise<number>;
  /** How many tasks there are, with those that have ended: costs nothing. */
  readonly countAll: () => Promise<number>;
  /** How many all may have together; infinite: any number. */
  readonly mostOfAll: () => Promise<number>;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/** Whether tasks were refused that are too many at a time even where there are no others: to wait helps nothing. */
export function isTooMany(error: unknown): boolean {
  return AppError.is(error, 'RATE_LIMITED') && error.details.isTooMany === true;
}

/** Bounds how many tasks of each user, and of all, have not ended. */
export function createOpenLimit({ countOpen, countAll, mostOfAll, nowMs }: OpenLimitOptions): OpenLimit {
  const ofUsers = new LRUCache<number, OpenTally>({ max: MAX_KNOWN });
  let ofAll: OpenTally | undefined;

  const countOf = (userId: number | undefined, most: number) => () => countOpen(userId, BEYOND_FOR_FOLLOW_UPS * most);
  const ofUser = (userId: number): OpenTally => {
    const tally = ofUsers.get(userId) ?? createOpenTally({ count: countOf(userId, MAX_OPEN_OF_A_USER), countAfter: COUNT_AFTER, nowMs });
    ofUsers.set(userId, tally);
    return tally;
  };
  const ofEverybody = (most: number): OpenTally => {
    const countAfter = Math.max(COUNT_AFTER, COUNT_ALL_AFTER * most);
    // To count tens of thousands holds up an embedded store for half a second.
    ofAll ??= createOpenTally({ count: countOf(undefined, most), atMost: countAll, countAfter, nowMs });
    return ofAll;
  };

  return {
    async take(tasks) {
      const beyond = tasks.every(({ id }) => id !== undefined) ? BEYOND_FOR_FOLLOW_UPS : 1;
      const taken: { tally: OpenTally; count: number }[] = [];
      const takeOf = async (tally: OpenTally, count: number, most: number, refusal: string, mayGo = beyond) => {
        if (count > mayGo * most) {
          const details = { isTooMany: true };
          throw new AppError('RATE_LIMITED', `${count} tasks at a time are too many: there may be ${Math.floor(mayGo * most)}`, {
            details,
          });
        }
        if (!(await tally.take(count, mayGo * most))) throw new AppError('RATE_LIMITED', refusal);
        taken.push({ tally, count });
      };
      try {
        for (const [userId, count] of countsOfCreators(tasks))
          await takeOf(
            ofUser(userId),
            count,
            MAX_OPEN_OF_A_USER,
            `more than ${MAX_OPEN_OF_A_USER} tasks have not ended yet: wait for them, or cancel some`,
          );
        const haveFew = taken.every(({ tally }) => tally.known() <= FEW);
        const most = await mostOfAll();
        if (most < Number.POSITIVE_INFINITY && tasks.length > 0)
          await takeOf(
            ofEverybody(most),
            tasks.length,
            most,
            `all users together have ${most} tasks that have not ended yet: try again later`,
            haveFew ? BEYOND_FOR_FOLLOW_UPS : beyond,
          );
      } catch (error) {
        for (const { tally, count } of taken) tally.giveBack(count);
        throw error;
      }
      return () => {
        for (const { tally, count } of taken) tally.settle(count);
      };
    },
  };
}

/** How many of the tasks each user has made, by its id. In one order for all callers, who wait for each other. */
function countsOfCreators(tasks: readonly Opened[]): readonly (readonly [number, number])[] {
  const counts = new Map<number, number>();
  for (const { creator } of tasks) if (creator) counts.set(creator.id, (counts.get(creator.id) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => one - other);
}
