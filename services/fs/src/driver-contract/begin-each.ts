import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import { childPath, hasRoomFor, MOUNT_ROOT, type MountPath, parentPath, parseEntryName } from '@wharf/paths';
import { storageError } from './storage-error.ts';
import { isDoomedName, newDoomedName } from './temp-names.ts';

/**
 * Begins to remove each of several entries, so many at a time. One that fails keeps none of the others from being told.
 *
 * @param begin @returns what `remove` is to be given for it; undefined: it is removed. @param toAppError of a failure that is the library's own
 */
export function beginEach(
  paths: readonly MountPath[],
  parallel: number,
  begin: (path: MountPath) => Promise<string | undefined>,
  toAppError: (error: unknown) => unknown = (error) => error,
): Promise<(string | undefined | AppError)[]> {
  const gate = createGate(parallel);
  return Promise.all(paths.map((path) => gate.run(() => begin(path)).catch((error: unknown) => AppError.from(toAppError(error)))));
}

/** Where a folder lies that was removed and goes piece by piece. */
interface DoomedPlace {
  readonly path: MountPath;
  /** What `remove` is given. */
  readonly begun: string;
}

/**
 * Gives a folder a name of ours, so that its own is free: right below the root, where no other folder takes it along; and where the server does not let it
 * go there (another file system, a root that nobody writes to), beside where it was.
 *
 * @param move gives it a free name. @param isRefusal whether a failure is the server's word
 * @returns what `remove` is to be given. @throws AppError UNSUPPORTED_OPERATION: the server lets it go nowhere
 */
export async function giveDoomedName(
  folder: MountPath,
  move: (to: MountPath) => Promise<void>,
  isRefusal: (error: unknown) => boolean,
): Promise<string> {
  let refusal: unknown;
  for (const { path, begun } of doomedPlaces(folder)) {
    try {
      await move(path);
      return begun;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal = error;
    }
  }
  throw storageError('UNSUPPORTED_OPERATION', refusal);
}

/** Where a folder lies to which `giveDoomedName` gave a name. @throws AppError INVALID_ARGUMENT */
export function doomedPlace(folder: MountPath, begun: string): MountPath {
  const isInRoot = begun.startsWith('/');
  const name = parseEntryName(isInRoot ? begun.slice(1) : begun);
  if (!isDoomedName(name)) throw storageError('INVALID_ARGUMENT');
  return childPath(isInRoot ? MOUNT_ROOT : parentPath(folder), name);
}

function doomedPlaces(folder: MountPath): DoomedPlace[] {
  const name = parseEntryName(newDoomedName(Date.now()));
  const above = parentPath(folder);
  const places: DoomedPlace[] = [{ path: childPath(MOUNT_ROOT, name), begun: `/${name}` }];
  if (above !== MOUNT_ROOT && hasRoomFor(above, name)) places.push({ path: childPath(above, name), begun: name });
  return places;
}
