/** The server's error code for a write that a unique index refuses. */
const DUPLICATE_KEY = 11_000;

/** True when a write failed because a record with the same unique key exists. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === DUPLICATE_KEY;
}
