import type { VirtualPath } from '@wharf/paths';
import type { FolderCache } from '../reading/folder-cache.ts';

/** Tells everybody that entries changed: our own caches and the search index at once, other replicas by the bus. */
export interface Changes {
  /** An entry came, went or got other content at this path. */
  entryChanged(...paths: readonly VirtualPath[]): void;
  /** An entry got another place, with all that is below it. */
  entryMoved(source: VirtualPath, target: VirtualPath): void;
}

/** Keeps the search index of all replicas in step. */
export interface ChangeNotes {
  noteChanges(paths: readonly VirtualPath[]): void;
  noteMove(source: VirtualPath, target: VirtualPath): void;
}

/** @param publish sends the paths to the other replicas. */
export function createChanges(folderCache: FolderCache, publish: (paths: readonly VirtualPath[]) => void, notes?: ChangeNotes): Changes {
  return {
    entryChanged(...paths) {
      folderCache.forget(paths);
      publish(paths);
      notes?.noteChanges(paths);
    },
    entryMoved(source, target) {
      folderCache.forget([source, target]);
      publish([source, target]);
      notes?.noteMove(source, target);
    },
  };
}
