import { AppError } from '@wharf/errors';
import { parseVirtualPath, type VirtualPath } from '@wharf/paths';

/**
 * A path of the tree as the admin enters it, in the one form that is stored and compared.
 *
 * @param field names the input in errors.
 * @throws AppError INVALID_ARGUMENT (empty, or too long) | UNSAFE_PATH
 */
export function cleanPath(raw: string, field: string): VirtualPath {
  if (raw === '') throw new AppError('INVALID_ARGUMENT', `${field} is required`, { details: { field } });
  return parseVirtualPath(raw);
}
