import { parentPath } from '@wharf/paths';
import type { ChangedPaths } from './index-changes.ts';

/** Of more changes than this, or longer ones (in characters), only the folders are noted in which they are... */
const MAX_CHANGES = 20_000;
const MAX_LENGTH = 4 * 1024 * 1024;
/** ... and of more than so many times that nothing: the next update of the index finds them. */
const MOST = 2;

/** Changes that the index has still to follow, each once. */
export interface NotedChanges {
  note(...paths: ChangedPaths): void;
  size(): number;
  /** All of them, which are forgotten here. @param isReady the others stay */
  take(isReady?: (paths: ChangedPaths) => boolean): ChangedPaths[];
}

/** They wait for a storage that answers slowly, or for an index that cannot be opened, while others go on changing theirs. */
export function createNotedChanges(): NotedChanges {
  const noted = new Map<string, ChangedPaths>();
  let length = 0;
  const isBelow = (times: number) => noted.size < times * MAX_CHANGES && length < times * MAX_LENGTH;
  const add = (paths: ChangedPaths) => {
    // Of one path twice its length counts once.
    const key = paths[0] === paths[1] ? `${paths[0]}\n` : paths.join('\n');
    if (!noted.has(key)) length += key.length;
    noted.set(key, paths);
  };
  return {
    note(...paths) {
      if (isBelow(1)) return add(paths);
      for (const path of paths) if (isBelow(MOST)) add([parentPath(path)]);
    },
    size: () => noted.size,
    take(isReady = () => true) {
      const taken = [...noted].filter(([, paths]) => isReady(paths));
      for (const [key] of taken) {
        length -= key.length;
        noted.delete(key);
      }
      return taken.map(([, paths]) => paths);
    },
  };
}
