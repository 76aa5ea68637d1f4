import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { ConfigError } from '@wharf/service-kit';
import { cleanMountPath } from '../domain/clean-path.ts';
import { type FolderDriver, type FolderMount, folderStorage } from '../domain/first-storage.ts';
import type { Counters } from './counters.ts';
import { insertWithId } from './insert-with-id.ts';
import type { StorageStore } from './storage-store.ts';

/**
 * Configures folders as storages, those that are not yet.
 *
 * @throws ConfigError: another storage is mounted at the place of one of them; then none is added
 */
export async function addFolderMounts(
  storages: StorageStore,
  counters: Counters,
  { mounts, driver, now }: { readonly mounts: readonly FolderMount[]; readonly driver: FolderDriver; readonly now: Date },
): Promise<void> {
  const present = new Map((await storages.list()).map((storage) => [storage.mount_path, storage]));
  const wanted = mounts.map(({ mountPath, folder }) => folderStorage(driver, { mountPath: cleanMountPath(mountPath), folder }));
  const folderOf = (addition: string): unknown => Object(parseJson(addition))[driver.folderItem];
  const isThere = (fields: (typeof wanted)[number]) => {
    const storage = present.get(fields.mount_path);
    return storage?.driver === fields.driver && folderOf(storage.addition) === folderOf(fields.addition);
  };
  const taken = wanted.filter((fields) => present.has(fields.mount_path) && !isThere(fields));
  if (taken.length > 0)
    throw new ConfigError(taken.map(({ mount_path }) => `--mount ${mount_path}: another storage is mounted there; choose another path`));
  for (const fields of wanted)
    if (!isThere(fields)) await insertWithId(counters, 'storages', 0, (id) => storages.insert(id, fields, now)).catch(ignoreTaken);
}

/** Another replica was faster. */
function ignoreTaken(error: unknown): void {
  if (!AppError.is(error, 'RECORD_EXISTS')) throw error;
}
