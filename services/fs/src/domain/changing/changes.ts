import type { VirtualPath } from '@wharf/paths';
import type { ShownAt } from '../mounts/inner-mounts.ts';
import type { FolderCache, Outcome } from '../reading/folder-cache.ts';

/** Tells everybody that entries changed: our own caches and the search index at once, other replicas by the bus. */
export interface Changes {
  /** An entry came, went or got other content at this path. */
  entryChanged(...paths: readonly VirtualPath[]): void;
  /** What was at these paths went away: where something is there, it is something else. */
  entryGone(...paths: readonly VirtualPath[]): void;
  /** The same where the storage said what came of it: our own kept listing need not be read anew. */
  entryBecame(outcome: Outcome): void;
  /** An entry got another place, with all that is below it. */
  entryMoved(source: Outcome, target: Outcome): void;
  /** As `entryBecame` of one of many: our own kept listings show it, and the others are told by `changedIn`. */
  oneBecame(outcome: Outcome): void;
  /** What changed at these paths, or in these folders, was told by `oneBecame` entry by entry: only the others have to forget. */
  changedIn(...paths: readonly VirtualPath[]): void;
  /** For outcomes: asked before the storage is. */
  now(): number;
}

/** Keeps the search index of all replicas in step. */
export interface ChangeNotes {
  noteChanges(paths: readonly VirtualPath[]): void;
  /** What was at these paths went away: there may be another folder by now. */
  noteGone(paths: readonly VirtualPath[]): void;
  noteMove(source: VirtualPath, target: VirtualPath): void;
}

/**
 * @param publish sends the paths to the other replicas. @param shownAt where else they show: that is forgotten here, and by the others when
 * they hear of the paths
 */
export function createChanges(
  folderCache: FolderCache,
  publish: (paths: readonly VirtualPath[]) => void,
  shownAt: ShownAt,
  notes?: ChangeNotes,
): Changes {
  /** @param gone those at which something else is, if anything */
  const tell = (paths: readonly VirtualPath[], gone: readonly VirtualPath[] = []) => {
    publish(paths);
    const elsewhere = shownAt(paths);
    if (elsewhere.length === 0) return;
    folderCache.forget(elsewhere);
    const goneElsewhere = new Set(gone.length > 0 ? shownAt(gone, true) : []);
    const changed = elsewhere.filter((place) => !goneElsewhere.has(place));
    if (goneElsewhere.size > 0) notes?.noteGone([...goneElsewhere]);
    if (changed.length > 0) notes?.noteChanges(changed);
  };
  return {
    entryChanged(...paths) {
      folderCache.forget(paths);
      tell(paths);
      notes?.noteChanges(paths);
    },
    entryGone(...paths) {
      folderCache.forget(paths);
      tell(paths, paths);
      notes?.noteGone(paths);
    },
    entryBecame(outcome) {
      const gone = outcome.entry ? [] : [outcome.path];
      tell(folderCache.take(outcome), gone);
      if (outcome.entry) notes?.noteChanges([outcome.path]);
      else notes?.noteGone(gone);
    },
    entryMoved(source, target) {
      tell([...folderCache.take(source), ...folderCache.take(target)], [source.path, target.path]);
      notes?.noteMove(source.path, target.path);
    },
    oneBecame(outcome) {
      const [, ...gone] = folderCache.take(outcome);
      // Folders went with their last entry, which nobody else tells of.
      if (gone.length > 0) tell(gone);
    },
    changedIn(...paths) {
      tell(paths);
      notes?.noteChanges(paths);
    },
    now: folderCache.now,
  };
}
