import { AppError } from '@wharf/errors';

/** More names than any folder in use has: a server that never ends its listing is not followed. */
const MAX_NAMES = 300_000;
/** An answer without a name counts as much: there is no good reason for it. */
const EMPTY_ANSWER = 10_000;

/** Counts the names of one folder. @returns to be called with how many came each time; it throws AppError UNSUPPORTED_OPERATION: there are too many */
export function boundNames(): (came: number | undefined) => void {
  let count = 0;
  return (came) => {
    count += came || EMPTY_ANSWER;
    if (count > MAX_NAMES) throw new AppError('UNSUPPORTED_OPERATION', `the folder has more than ${MAX_NAMES} entries`);
  };
}
