/** A file may have 50,000 records, and each that is drawn takes the page a part of a millisecond. */
const MAX_SHOWN = 500;

/** What a report of an import tells of: what changes, with what failed first. @returns `others` as the number of those for which there is no room */
export function recordsToTell<Told extends { readonly outcome: string }>(
  records: readonly Told[],
): { shown: readonly Told[]; others: number } {
  const told = records.filter(({ outcome }) => outcome !== 'unchanged');
  const [failed, rest] = [true, false].map((isFailed) => told.filter(({ outcome }) => (outcome === 'failed') === isFailed));
  const shown = [...(failed ?? []), ...(rest ?? [])].slice(0, MAX_SHOWN);
  return { shown, others: told.length - shown.length };
}
