import type { TaskModels, TaskOwner } from '@wharf/models';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface TaskMetrics {
  countAttempt(kind: string, result: string): void;
  observeClaim(kind: string, waitedMs: number): void;
}

/** Metrics of one owner's queue. The depth is counted in the store when it is asked for: every replica tells the same. */
export function createTaskMetrics(registry: Registry, owner: TaskOwner, { tasks }: TaskModels): TaskMetrics {
  const prefix = `wharf_${owner}_task`;
  new Gauge({
    name: `${prefix}s`,
    help: 'Tasks that have not ended, by kind and state.',
    labelNames: ['kind', 'state'],
    registers: [registry],
    async collect() {
      const counts = await tasks.aggregate<{ _id: { kind: string; state: number }; count: number }>([
        { $match: { done: false } },
        { $group: { _id: { kind: '$kind', state: '$state' }, count: { $sum: 1 } } },
      ]);
      this.reset();
      for (const { _id, count } of counts) this.set({ kind: _id.kind, state: String(_id.state) }, count);
    },
  });
  const attempts = new Counter({
    name: `${prefix}_attempts_total`,
    help: 'Attempts at tasks that this replica ended, by kind and result.',
    labelNames: ['kind', 'result'],
    registers: [registry],
  });
  const waits = new Histogram({
    name: `${prefix}_claim_seconds`,
    help: 'How long tasks waited for a worker after they could have run, by kind.',
    labelNames: ['kind'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600],
    registers: [registry],
  });
  return {
    countAttempt: (kind, result) => attempts.inc({ kind, result }),
    observeClaim: (kind, waitedMs) => waits.observe({ kind }, waitedMs / 1_000),
  };
}
