import type { VirtualPath } from '@wharf/paths';
import type { FolderReader } from './folder-reader.ts';

/** Tells everybody that entries changed: our own caches and the search index at once, other replicas by the bus. */
export interface Changes {
  /** An entry came, went or got other content at this path. Of a move: its source, then its target, in one call. */
  entryChanged(...paths: readonly VirtualPath[]): void;
}

/** @param publish sends the paths to the other replicas. @param note keeps the search index of all replicas in step. */
export function createChanges(
  reader: FolderReader,
  publish: (paths: readonly VirtualPath[]) => void,
  note: (paths: readonly VirtualPath[]) => void = () => {},
): Changes {
  return {
    entryChanged(...paths) {
      reader.forget(paths);
      publish(paths);
      note(paths);
    },
  };
}
