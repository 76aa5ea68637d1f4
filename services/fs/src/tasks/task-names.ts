import { parentPath } from '@wharf/paths';
import type { Located } from '../domain/mounts/mount-table.ts';
import type { Mount } from '../domain/mounts/mounts.ts';

type Place = Pick<Located<Pick<Mount, 'storage'>>, 'mount' | 'path'>;

/** The name of a task that copies or moves one entry: clients take it apart (docs/api-family.md#task-names). */
export function placementName(verb: 'copy' | 'move' | 'merge', from: Place, to: Place): string {
  return `${verb} ${pair(from, from.path)} to ${pair(to, parentPath(to.path))}`;
}

/** The same of a task that moves files from below one folder into another. */
export function flatteningName(from: Place, to: Place): string {
  return `move ${pair(from, from.path)} to ${pair(to, to.path)}`;
}

/** The name of a task that removes entries of a folder. */
export function removalName(folder: Place, names: readonly string[]): string {
  const [first, ...more] = names;
  if (first === undefined || more.length > 0) return `remove ${names.length} entries of ${pair(folder, folder.path)}`;
  return `remove ${pair(folder, `${folder.path === '/' ? '' : folder.path}/${first}`)}`;
}

/** The same of one that removes what is empty below a folder. */
export function tidyingName(folder: Place): string {
  return `remove empty folders of ${pair(folder, folder.path)}`;
}

/** The name of a task that stores what a client sent. */
export function uploadName(name: string, to: Place): string {
  return `upload ${name} to ${pair(to, parentPath(to.path))}`;
}

/** A mount path and a path in its storage. */
function pair({ mount }: Place, path: string): string {
  return `[${mount.storage.mount_path}](${path})`;
}
