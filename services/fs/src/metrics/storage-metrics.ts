import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { StorageMetrics } from '../domain/mounts/mounts.ts';

/** Seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30];
const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** How storages get on, for /metrics. The label is the id alone: as many series as there are storages. */
export function createStorageMetrics(registry: Registry): StorageMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'wharf_storage_calls_total',
    help: 'Calls of a storage that ended, by outcome: ok, or failed by its own fault.',
    labelNames: ['storage', 'outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'wharf_storage_call_seconds',
    help: 'How long a storage takes for its first answer.',
    labelNames: ['storage'] as const,
    buckets: BUCKETS,
    registers,
  });
  const breaker = new Gauge({
    name: 'wharf_storage_breaker',
    help: 'Whether calls of a storage pass: 0 they do, 1 it is being looked at, 2 they are refused.',
    labelNames: ['storage'] as const,
    registers,
  });
  return {
    called(id, isFailure, elapsedMs) {
      calls.inc({ storage: id, outcome: isFailure ? 'failed' : 'ok' });
      if (elapsedMs !== undefined) seconds.observe({ storage: id }, elapsedMs / 1000);
    },
    breakerChanged: (id, state) => breaker.set({ storage: id }, BREAKER_VALUES[state]),
    forget(id) {
      for (const outcome of ['ok', 'failed']) calls.remove({ storage: id, outcome });
      seconds.remove({ storage: id });
      breaker.remove({ storage: id });
    },
  };
}
