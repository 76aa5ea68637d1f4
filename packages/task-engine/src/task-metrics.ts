import type { TaskModels, TaskOwner } from '@wharf/models';
import { counter, gauge, histogram } from '@wharf/service-kit';
import type { Registry } from 'prom-client';

export interface TaskMetrics {
  countAttempt(kind: string, result: string): void;
  observeClaim(kind: string, waitedMs: number): void;
}

/** Metrics of one owner's queue. The depth is counted in the store when it is asked for: every replica tells the same. */
export function createTaskMetrics(registry: Registry, owner: TaskOwner, { tasks }: TaskModels): TaskMetrics {
  gauge(registry, `wharf_${owner}_tasks`, async (depth) => {
    const counts = await tasks.aggregate<{ _id: { kind: string; state: number }; count: number }>([
      { $match: { done: false } },
      { $group: { _id: { kind: '$kind', state: '$state' }, count: { $sum: 1 } } },
    ]);
    depth.reset();
    for (const { _id, count } of counts) depth.set({ kind: _id.kind, state: String(_id.state) }, count);
  });
  const attempts = counter(registry, `wharf_${owner}_task_attempts_total`);
  const waits = histogram(registry, `wharf_${owner}_task_claim_seconds`);
  return {
    countAttempt: (kind, result) => attempts.inc({ kind, result }),
    observeClaim: (kind, waitedMs) => waits.observe({ kind }, waitedMs / 1_000),
  };
}
