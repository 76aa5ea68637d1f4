import { AppError } from '@wharf/errors';

/** More fields in one form or query would keep others waiting. */
export const MAX_PAIRS = 20_000;

/**
 * The fields of a query or of a body of type application/x-www-form-urlencoded, in their order. Each is read by itself: the time that
 * `URLSearchParams` takes for all at once grows with the square of those that have no `=`.
 *
 * @throws AppError INVALID_ARGUMENT: more than MAX_PAIRS
 */
export function parsePairs(text: string): [string, string][] {
  const pairs = text.split('&', MAX_PAIRS + 1);
  if (pairs.length > MAX_PAIRS) throw tooManyPairs();
  // Without the `&` a `?` at the beginning would be lost.
  return pairs.flatMap((pair) => [...new URLSearchParams(`&${pair}`)]);
}

export const tooManyPairs = () => new AppError('INVALID_ARGUMENT', `no more than ${MAX_PAIRS} fields at once`);
