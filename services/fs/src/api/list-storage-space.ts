import type { ListStorageSpaceRequest, ListStorageSpaceResponse, StorageSpace } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { Mount, Mounts } from '../domain/mounts/mounts.ts';
import { supports } from '../driver-contract/storage-driver.ts';

/** How long a list of storages waits for slow storages, in milliseconds. */
const LIMIT_MS = 3_000;

/** For admin: the room of each storage that tells it in time. The others are left out. */
export const listStorageSpaceHandler =
  (context: FsContext, mounts: Mounts) =>
  async (_request: ListStorageSpaceRequest, call: Call): Promise<ListStorageSpaceResponse> => {
    await context.configuration.snapshot(call.revisions);
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(LIMIT_MS)]);
    const late = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
    const found = await Promise.all(mounts.all().map((mount) => Promise.race([spaceOf(mount, signal).catch(() => undefined), late])));
    return { storages: found.filter((space) => space !== undefined) };
  };

async function spaceOf(mount: Mount, signal: AbortSignal): Promise<StorageSpace | undefined> {
  const driver = await mount.driver();
  if (!supports(driver, 'space')) return undefined;
  const { totalBytes, freeBytes } = await driver.space({ signal });
  return { id: mount.storage._id, total_bytes: totalBytes, free_bytes: freeBytes };
}
