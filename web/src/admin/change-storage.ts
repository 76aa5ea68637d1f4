import { ApiError, call } from '../api/call.ts';
import type { Storage } from './records.ts';

/**
 * Saves a storage with changes, on what is saved by now: since the page read it, its driver may have renewed a token, whose old one is worth nothing.
 *
 * @param change what is other, by what is saved. @throws ApiError
 */
export async function changeStorage(id: number, change: (present: Storage) => Partial<Storage>): Promise<void> {
  const present = await call('/api/admin/storage/get', { id });
  if (present === null) throw new ApiError(500, 'the storage is gone');
  await call('/api/admin/storage/update', { ...present, ...change(present) });
}
