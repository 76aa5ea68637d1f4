import { AppError } from '@wharf/errors';
import { parentPath, type VirtualPath } from '@wharf/paths';

/**
 * Of what is gone: the topmost folder above it that is gone, too, or itself. A folder that got another name is gone with all that is below it. If the index
 * lost only what was looked for, it would take the rest to the new place, and read nothing there.
 */
export async function topmostGone(path: VirtualPath, isThere: (folder: VirtualPath) => Promise<boolean>): Promise<VirtualPath> {
  let top = path;
  while (top !== '/' && !(await isThere(parentPath(top)))) top = parentPath(top);
  return top;
}

/** Whether an error of a look says that nothing is there. */
export function isGone(error: unknown): boolean {
  return AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'MOUNT_NOT_FOUND');
}
