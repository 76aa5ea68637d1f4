import type { TaskModels, TaskOwner } from '@wharf/models';
import { counter, gauge, histogram } from '@wharf/service-kit';
import type { Registry } from 'prom-client';
import { openCounts } from './open-counts.ts';
import type { StoreClock } from './store-clock.ts';

export interface TaskMetrics {
  countAttempt(kind: string, result: string): void;
  observeClaim(kind: string, waitedMs: number): void;
}

/** Metrics of one owner's queue. The depth is counted by one replica for all: each tells the same. */
export function createTaskMetrics(registry: Registry, owner: TaskOwner, models: TaskModels, clock: StoreClock): TaskMetrics {
  gauge(registry, `wharf_${owner}_tasks`, async (depth) => {
    await clock.sync();
    const counts = await openCounts(models, () => clock.now().getTime());
    depth.reset();
    for (const { kind, state, count } of counts) depth.set({ kind, state: String(state) }, count);
  });
  const attempts = counter(registry, `wharf_${owner}_task_attempts_total`);
  const waits = histogram(registry, `wharf_${owner}_task_claim_seconds`);
  return {
    countAttempt: (kind, result) => attempts.inc({ kind, result }),
    observeClaim: (kind, waitedMs) => waits.observe({ kind }, waitedMs / 1_000),
  };
}
