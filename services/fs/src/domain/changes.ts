import { parentPath, type VirtualPath } from '../driver-contract/paths.ts';
import type { FolderReader } from './folder-reader.ts';

/** Tells everybody that entries changed: our own caches at once, other replicas by the bus. */
export interface Changes {
  /** An entry came, went or got other content at this path. */
  entryChanged(...paths: readonly VirtualPath[]): void;
}

/** @param publish sends the paths to the other replicas. */
export function createChanges(reader: FolderReader, publish: (paths: readonly VirtualPath[]) => void): Changes {
  return {
    entryChanged(...paths) {
      forgetEntries(reader, paths);
      publish(paths);
    },
  };
}

/** Drops what is kept of changed entries: the folders they are in, and what was below them. */
export function forgetEntries(reader: FolderReader, paths: readonly VirtualPath[]): void {
  for (const path of paths) {
    reader.forget(parentPath(path), false);
    reader.forget(path, true);
  }
}
