import type { VirtualPath } from '@wharf/paths';
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
      reader.forget(paths);
      publish(paths);
    },
  };
}
