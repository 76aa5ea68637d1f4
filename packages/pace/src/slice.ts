/** Which part of a list: `limit` 0 means all. */
export interface Slice {
  readonly skip: number;
  readonly limit: number;
}

/** The slice that is the whole list. */
export const WHOLE: Slice = { skip: 0, limit: 0 };

/** Pages count from 1, and one under 1 is the first; fewer than 1 per page are all. */
export function sliceOf(page: number, perPage: number): Slice {
  return perPage < 1 ? WHOLE : { skip: (Math.max(page, 1) - 1) * perPage, limit: perPage };
}

/** Where a slice begins in a list of this length, and where it ends. */
export function boundsOf({ skip, limit }: Slice, length: number): { start: number; end: number } {
  const start = Math.min(skip, length);
  return { start, end: limit === 0 ? length : Math.min(start + limit, length) };
}
