import { unlessAborted } from '@wharf/pace';
import { throwIfAborted } from './storage-error.ts';

/** Waits for what others may wait for, too, as long as its own caller does. @throws CANCELLED, or the AppError that is the reason of the abort; what the work throws */
export async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  try {
    return await unlessAborted(signal, work);
  } catch (error) {
    throwIfAborted(signal);
    throw error;
  }
}
