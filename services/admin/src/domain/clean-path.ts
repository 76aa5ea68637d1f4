import { AppError } from '@wharf/errors';
import { mountPlace, parseVirtualPath, type VirtualPath } from '@wharf/paths';

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

/** The same of a mount path, of which a place must remain that a storage can lie at. @throws AppError as cleanPath() */
export function cleanMountPath(raw: string): VirtualPath {
  const path = cleanPath(raw, 'mount_path');
  mountPlace(path);
  return path;
}
