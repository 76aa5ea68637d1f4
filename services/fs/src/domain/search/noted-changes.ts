import { parentPath } from '@wharf/paths';
import type { ChangedPaths } from './index-changes.ts';

/** More changed paths than this at once count as changes of their folders. */
const MAX_CHANGES = 20_000;

/** Changes that the index has still to follow, each once. */
export interface NotedChanges {
  note(...paths: ChangedPaths): void;
  size(): number;
  /** All of them, which are forgotten here. @param isReady the others stay */
  take(isReady?: (paths: ChangedPaths) => boolean): ChangedPaths[];
}

export function createNotedChanges(): NotedChanges {
  const noted = new Map<string, ChangedPaths>();
  return {
    note(...paths) {
      if (noted.size < MAX_CHANGES) noted.set(paths.join('\n'), paths);
      else for (const folder of paths.map(parentPath)) noted.set(folder, [folder]);
    },
    size: () => noted.size,
    take(isReady = () => true) {
      const taken = [...noted].filter(([, paths]) => isReady(paths));
      for (const [key] of taken) noted.delete(key);
      return taken.map(([, paths]) => paths);
    },
  };
}
