import type { ReloadStorageRequest, ReloadStorageResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { Mounts } from '../domain/mounts/mounts.ts';

/** For admin: starts a storage anew with its stored configuration and says how that went. */
export const reloadStorageHandler =
  (context: FsContext, mounts: Mounts) =>
  async (request: ReloadStorageRequest, call: Call): Promise<ReloadStorageResponse> => {
    await context.configuration.snapshot(call.revisions);
    const status = await mounts.reopen(request.id);
    return { status, addition: mounts.normalisedAddition(request.id) ?? '' };
  };
