import { AppError } from '@wharf/errors';
import { LRUCache } from 'lru-cache';

/** The most tasks of one user that have not ended. The store has no room for any number. */
const MAX_OPEN_OF_A_USER = 10_000;
/** A replica counts a user's tasks again after it added this many. Other replicas add and end tasks, too. */
const COUNT_AFTER = 500;
/**
 * How long, in milliseconds, the tasks of a user at the limit are not counted again. The cost of a count grows with the number of tasks.
 */
const COUNT_AGAIN_MS = 2_000;
/** Users whose count is known. */
const MAX_KNOWN = 10_000;

interface Known {
  readonly counted: number;
  readonly atMs: number;
  added: number;
}

/**
 * Bounds how many tasks of each user have not ended, without counting them for each that is added. Several replicas may go over the limit by
 * COUNT_AFTER each.
 *
 * @param countOpen counts a user's tasks in the store, up to a limit. @param nowMs monotonic
 */
export function createOpenLimit(countOpen: (userId: number, limit: number) => Promise<number>, nowMs: () => number) {
  const known = new LRUCache<number, Known>({ max: MAX_KNOWN });

  const fits = (user: Known, count: number) => user.counted + user.added + count <= MAX_OPEN_OF_A_USER;
  const isFresh = (user: Known, count: number) =>
    fits(user, count) ? user.added + count <= COUNT_AFTER : nowMs() - user.atMs < COUNT_AGAIN_MS;
  const lookUp = async (userId: number, count: number): Promise<Known> => {
    const last = known.get(userId);
    if (last && isFresh(last, count)) return last;
    const user = { counted: await countOpen(userId, MAX_OPEN_OF_A_USER), atMs: nowMs(), added: 0 };
    known.set(userId, user);
    return user;
  };

  return {
    /** Takes room for this many more tasks of a user. @throws AppError RATE_LIMITED: there is not so much */
    async take(userId: number, count: number): Promise<void> {
      const user = await lookUp(userId, count);
      if (!fits(user, count))
        throw new AppError('RATE_LIMITED', `more than ${MAX_OPEN_OF_A_USER} tasks have not ended yet: wait for them, or cancel some`);
      user.added += count;
    },
  };
}
