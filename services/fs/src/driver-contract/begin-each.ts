import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import { childPath, hasRoomFor, MOUNT_ROOT, type MountPath, parentPath, parseEntryName } from '@wharf/paths';
import { beganElsewhere, placeMark } from './begun-removal.ts';
import { isNotThere, storageError } from './storage-error.ts';
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

/** Stands before the mark of where a folder lies that has such a name. */
const BEFORE_MARK = ' ';

/** A folder of a server, as who logs in there sees it. */
export interface ServerFolder {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly place: string;
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
 * @param root the folder of the server below which paths are. @param move gives it a free name. @param isRefusal whether a failure is the server's word
 * @returns what `remove` is to be given. @throws AppError UNSUPPORTED_OPERATION: the server lets it go nowhere
 */
export async function giveDoomedName(
  root: ServerFolder,
  folder: MountPath,
  move: (to: MountPath) => Promise<void>,
  isRefusal: (error: unknown) => boolean,
): Promise<string> {
  let refusal: unknown;
  for (const { path, begun } of doomedPlaces(folder)) {
    try {
      await move(path);
      return `${begun}${BEFORE_MARK}${markOf(root, path)}`;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal = error;
    }
  }
  throw storageError('UNSUPPORTED_OPERATION', refusal);
}

/**
 * Goes on with the removal of a folder to which `giveDoomedName` gave a name, which nothing else has. Where nothing has it, it is gone only if this is the place
 * where it lay: of what an earlier version began that is not known.
 *
 * @throws AppError FAILED_PRECONDITION: it lies elsewhere; what `remove` says
 */
export async function removeDoomed(
  root: ServerFolder,
  folder: MountPath,
  begun: string,
  remove: (doomed: MountPath) => Promise<void>,
): Promise<void> {
  const [place = '', mark] = begun.split(BEFORE_MARK);
  const isInRoot = place.startsWith('/');
  const name = isInRoot ? place.slice(1) : place;
  if (!isDoomedName(name)) throw beganElsewhere();
  const doomed = childPath(isInRoot ? MOUNT_ROOT : parentPath(folder), parseEntryName(name));
  try {
    await remove(doomed);
  } catch (error) {
    throw mark !== undefined && mark !== markOf(root, doomed) && isNotThere(error) ? beganElsewhere(error) : error;
  }
}

function markOf({ host, port, username, place }: ServerFolder, path: MountPath): string {
  return placeMark(host, port, username, place, path);
}

function doomedPlaces(folder: MountPath): DoomedPlace[] {
  const name = parseEntryName(newDoomedName(Date.now()));
  const above = parentPath(folder);
  const places: DoomedPlace[] = [{ path: childPath(MOUNT_ROOT, name), begun: `/${name}` }];
  if (above !== MOUNT_ROOT && hasRoomFor(above, name)) places.push({ path: childPath(above, name), begun: name });
  return places;
}
