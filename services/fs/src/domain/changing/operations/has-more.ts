import { AppError } from '@wharf/errors';
import type { CallOptions } from '../../../driver-contract/storage-driver.ts';
import { walkTree } from '../../../driver-contract/walk-tree.ts';
import type { Place } from './operation.ts';

/** Whether a folder has more entries than that, at whatever depth; looks at no more. One that is gone has none. @throws NOT_A_DIRECTORY */
export async function hasMore({ driver, path }: Place, limit: number, call: CallOptions): Promise<boolean> {
  let entries = 0;
  try {
    for await (const _ of walkTree(driver, path, call)) {
      entries += 1;
      if (entries > limit) return true;
    }
  } catch (error) {
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  }
  return false;
}
