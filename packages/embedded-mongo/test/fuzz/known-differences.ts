import type { Operation } from './random-operations.ts';
import type { Outcome } from './run-fuzz.ts';

/** Where the engine departs from what MongoDB documents. Each entry says what is documented. */
export function isKnownDifference(_operation: Operation, _store: Outcome, _engine: Outcome): boolean {
  return false;
}
