import { AppError } from '@wharf/errors';
import { backoffMs, postponed, type TaskRun } from '@wharf/task-engine';

/** An attempt that finds its storage not open is followed by another one after a pause: these many are half an hour in all. */
const MAX_ATTEMPTS = 35;

/**
 * Opens what a task needs before it begins. A storage that is not open, as for a moment after a start, or while its server is away then, has the task wait and
 * costs it no failure: the two retries that there are would be over in three seconds.
 *
 * @param open rejects with STORAGE_UNAVAILABLE where a storage is not open
 */
export async function untilOpen<Opened>(
  { attempt }: Pick<TaskRun<never, never, never>, 'attempt'>,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (!AppError.is(error, 'STORAGE_UNAVAILABLE') || attempt > MAX_ATTEMPTS) throw error;
    throw postponed(error.message, backoffMs(attempt));
  }
}
