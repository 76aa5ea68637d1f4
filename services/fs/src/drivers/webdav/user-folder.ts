import { segmentsOf } from './resources.ts';

/** Where Nextcloud and ownCloud have the files of a user. */
const USERS = '/remote.php/dav/files/';

/** A folder of a user of such a server. */
export interface UserFolder {
  /** What the server's own addresses begin with; ends with a slash. */
  readonly server: URL;
  /** As it stands in addresses. */
  readonly user: string;
  /** The names that lead to it from the first folder of the user. */
  readonly below: readonly string[];
}

/** @param root of a storage. @returns undefined: it is no such folder, by its address */
export function userFolderOf(root: URL): UserFolder | undefined {
  const at = root.pathname.lastIndexOf(USERS);
  const [user = '', ...below] = root.pathname.slice(at + USERS.length).split('/');
  if (at < 0 || user === '' || below.length === 0) return undefined;
  const names = segmentsOf(`/${below.join('/')}`);
  return names && { server: new URL(`${root.pathname.slice(0, at)}/`, root), user, below: names };
}
