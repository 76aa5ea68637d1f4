import { counter, gauge, histogram, type ServiceKit } from '@wharf/service-kit';
import type { StorageMetrics } from '../domain/mounts/mounts.ts';

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** How storages get on, for /metrics. The label is the id alone: as many series as there are storages. */
export function createStorageMetrics(registry: ServiceKit['metrics']): StorageMetrics {
  const calls = counter(registry, 'wharf_storage_calls_total');
  const seconds = histogram(registry, 'wharf_storage_call_seconds');
  const breaker = gauge(registry, 'wharf_storage_breaker');
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
