import type { ListStorageHealthRequest, ListStorageHealthResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { Mounts, StorageHealth } from '../domain/mounts/mounts.ts';
import { toWireTime } from './wire-entry.ts';

/** For admin: the health of each enabled storage, as this replica sees it. */
export const listStorageHealthHandler =
  (context: FsContext, mounts: Mounts, replica: string) =>
  async (_request: ListStorageHealthRequest, call: Call): Promise<ListStorageHealthResponse> => {
    await context.configuration.snapshot(call.revisions);
    return { storages: mounts.health().map(toWireHealth), replica };
  };

function toWireHealth({ storage, state, breaker, lastFailure, retryAt, latencyMs, calls, failures }: StorageHealth) {
  return {
    id: storage._id,
    mount_path: storage.mount_path,
    driver: storage.driver,
    state,
    breaker,
    last_error: lastFailure?.message ?? '',
    last_error_at: lastFailure ? toWireTime(lastFailure.at) : '',
    retry_at: retryAt ? toWireTime(retryAt) : '',
    latency_ms: Math.round(latencyMs * 1000) / 1000,
    calls,
    failures,
  };
}
