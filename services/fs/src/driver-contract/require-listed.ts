import { AppError } from '@wharf/errors';
import { isAway, rootIsGone, throwIfAborted } from './storage-error.ts';

/**
 * A gateway shows the place of a storage of its own while the root of that is away, as on a disk that is not mounted. Then it cannot list it, and says nothing
 * of what is in it.
 *
 * @param listed ends once a listing of the place has begun
 * @throws AppError STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED, or what the signal says
 */
export async function requireListed(listed: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  try {
    await listed;
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND')) throw rootIsGone(error);
    if (isAway(error)) throw error;
    throwIfAborted(signal);
  }
}
