import { type Models, readQuotaRevision, readQuotas } from '@wharf/models';
import { isYounger } from '@wharf/pace';

type Found = Awaited<ReturnType<typeof readQuotas>>;

/** How long quotas hold of which nobody said that they changed, in milliseconds. */
const KEPT_MS = 600_000;

/** The quotas of all users. They are read when one has changed, which logins and passwords do not; a change that could not be counted is seen after a while. */
export function createKeptQuotas(models: Models, clock: () => number): { read(): Promise<Found> } {
  let kept: { readonly revision: number; readonly atMs: number; readonly found: Found } | undefined;
  return {
    async read() {
      const revision = await readQuotaRevision(models);
      if (kept?.revision === revision && isYounger(kept.atMs, clock(), KEPT_MS)) return kept.found;
      const found = await readQuotas(models);
      kept = { revision, atMs: clock(), found };
      return found;
    },
  };
}
