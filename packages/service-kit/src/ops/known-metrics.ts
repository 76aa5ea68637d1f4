import type { Registry } from 'prom-client';
import { within } from '../within.ts';

/** How long a value may take to be found, in milliseconds: whoever scrapes waits for 10 s as a rule. */
const PATIENCE_MS = 2_000;

/** All metrics as text. One whose values cannot be found now, because the store does not answer, is left out and named in a comment. */
export async function knownMetrics(registry: Registry): Promise<string> {
  const texts = registry
    .getMetricsAsArray()
    .map(({ name }) =>
      within(PATIENCE_MS, registry.getSingleMetricAsString(name), 'late').catch(() => `# ${name} is not known at the moment`),
    );
  return `${(await Promise.all(texts)).join('\n\n')}\n`;
}
