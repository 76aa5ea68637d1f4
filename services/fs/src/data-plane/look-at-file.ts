import type { MountPath } from '@wharf/paths';
import type { CallOptions, Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { whileOpen } from '../driver-contract/while-open.ts';

/** An entry, with the size that its content tells as it is opened where the storage does not: it may be empty. @throws what stat() and read() throw */
export async function lookAtFile(driver: StorageDriver, path: MountPath, call: CallOptions): Promise<Entry> {
  const entry = await driver.stat(path, call);
  if (entry.isDirectory || entry.sizeBytes !== undefined) return entry;
  const open = (signal: AbortSignal) => driver.read(path, undefined, { ...call, signal });
  return whileOpen(call.signal, open, async (content) => content.entry);
}
