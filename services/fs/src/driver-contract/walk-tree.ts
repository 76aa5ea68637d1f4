import { childPath, hasRoomFor, type MountPath } from '@wharf/paths';
import { type CallOptions, type PlacedEntry, type StorageDriver, supports } from './storage-driver.ts';

/**
 * All that is below a folder, each once and a folder before what is in it; by the storage's own recursive listing where it has one. Links are not
 * entered, and what no path can reach is left out.
 *
 * @throws what the storage throws
 */
export async function* walkTree(driver: StorageDriver, directory: MountPath, options: CallOptions = {}): AsyncGenerator<PlacedEntry, void> {
  if (supports(driver, 'listAll')) return yield* driver.listAll(directory, options);
  const folders = [directory];
  for (const folder of folders) {
    for await (const entry of driver.list(folder, options)) {
      if (!hasRoomFor(folder, entry.name)) continue;
      const path = childPath(folder, entry.name);
      yield { path, entry };
      if (entry.isDirectory && !entry.isLink) folders.push(path);
    }
  }
}
