import type { VirtualPath } from '@wharf/paths';
import type { FolderCache, Outcome } from '../reading/folder-cache.ts';

/** Tells everybody that entries changed: our own caches and the search index at once, other replicas by the bus. */
export interface Changes {
  /** An entry came, went or got other content at this path. */
  entryChanged(...paths: readonly VirtualPath[]): void;
  /** The same where the storage said what came of it: our own kept listing need not be read anew. */
  entryBecame(outcome: Outcome): void;
  /** An entry got another place, with all that is below it. */
  entryMoved(source: Outcome, target: Outcome): void;
  /** For outcomes: asked before the storage is. */
  now(): number;
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
    entryBecame(outcome) {
      publish(folderCache.take(outcome));
      notes?.noteChanges([outcome.path]);
    },
    entryMoved(source, target) {
      publish([...folderCache.take(source), ...folderCache.take(target)]);
      notes?.noteMove(source.path, target.path);
    },
    now: folderCache.now,
  };
}
