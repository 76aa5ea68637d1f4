import { segmentsOf } from './resources.ts';

/** Where Nextcloud and ownCloud have the files of a user. */
const USER_FOLDER = /^(.*)\/remote\.php\/dav\/files\/([^/]+)\/(.*)$/;

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
  const match = USER_FOLDER.exec(root.pathname);
  if (!match) return undefined;
  const [, before, user = '', below] = match;
  const names = segmentsOf(`/${below}`);
  return names && { server: new URL(`${before}/`, root), user, below: names };
}
