import { isDeepStrictEqual } from 'node:util';
import { giveWay } from './give-way.ts';

/** Whether data is the same in all that it holds. Of lists others have their turns between two records: there may be thousands of them. */
export async function isSame(one: unknown, other: unknown): Promise<boolean> {
  if (!Array.isArray(one) || !Array.isArray(other) || typeof one[0] !== 'object') return isDeepStrictEqual(one, other);
  if (one.length !== other.length) return false;
  for (const [index, record] of one.entries()) {
    if (!(await isSame(record, other[index]))) return false;
    await giveWay();
  }
  return true;
}
