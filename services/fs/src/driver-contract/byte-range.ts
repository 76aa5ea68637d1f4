import { AppError } from '@wharf/errors';
import type { ByteRange } from './storage-driver.ts';
import { storageError } from './storage-error.ts';

/**
 * Where a range begins and ends (exclusive) in a file of this size.
 *
 * @throws AppError RANGE_NOT_SATISFIABLE | INVALID_ARGUMENT (negative, or no whole number)
 */
export function resolveRange(range: ByteRange | undefined, sizeBytes: number): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: sizeBytes };
  const { offsetBytes: start, lengthBytes } = range;
  if (!isCount(start) || (lengthBytes !== undefined && !isCount(lengthBytes))) {
    throw new AppError('INVALID_ARGUMENT', 'a range is counted in whole bytes');
  }
  if (start > 0 && start >= sizeBytes) throw storageError('RANGE_NOT_SATISFIABLE');
  return { start, end: lengthBytes === undefined ? sizeBytes : Math.min(sizeBytes, start + lengthBytes) };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
