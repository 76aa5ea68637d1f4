/** A page of a list and the length of the whole. @param page from 1; less is 1. @param perPage less than 1: everything */
export function pageOf<Item>(items: readonly Item[], page: number, perPage: number): { content: readonly Item[]; total: number } {
  if (perPage < 1) return { content: items, total: items.length };
  const start = (Math.max(1, page) - 1) * perPage;
  return { content: items.slice(start, start + perPage), total: items.length };
}
