/** Which part of a list: `limit` 0 means all. */
export interface Slice {
  readonly skip: number;
  readonly limit: number;
}

/** Pages count from 1, and one under 1 is the first; fewer than 1 per page are all. */
export function sliceOf(page: number, perPage: number): Slice {
  return perPage < 1 ? { skip: 0, limit: 0 } : { skip: (Math.max(page, 1) - 1) * perPage, limit: perPage };
}
