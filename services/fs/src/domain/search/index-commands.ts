import { AppError } from '@wharf/errors';
import { parseVirtualPath } from '@wharf/paths';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { clearIndex, startJob, stopJob } from './index-jobs.ts';
import type { IndexProgress, IndexProgressReports } from './index-progress.ts';
import { indexScope } from './index-scope.ts';
import type { SearchIndex } from './search-index.ts';

/** What an admin orders of the index. */
export interface IndexCommands {
  /** Builds everything anew. @throws AppError FAILED_PRECONDITION; as index() */
  build(snapshot: Snapshot): Promise<void>;
  /**
   * Builds the subtrees of some paths anew. @param depth levels below each; negative: all; undefined: as the setting says.
   * @throws AppError FAILED_PRECONDITION (also when the mode has no partial update); as index()
   */
  update(snapshot: Snapshot, paths: readonly string[], depth: number | undefined): Promise<void>;
  stopJob(snapshot: Snapshot): Promise<void>;
  clear(snapshot: Snapshot): Promise<void>;
  progress(snapshot: Snapshot): Promise<IndexProgress & { readonly isRunning: boolean }>;
}

/** Modes that let single subtrees be built anew. */
const PARTIAL_MODES = ['database', 'database_non_full_text', 'meilisearch'];
export function createIndexCommands(parts: {
  /** @throws AppError UNSUPPORTED_OPERATION | STORAGE_UNAVAILABLE */
  readonly indexOf: (snapshot: Snapshot) => Promise<SearchIndex>;
  readonly clock: () => number;
  readonly progress: IndexProgressReports;
  /** Ends the walk that this process is on. */
  readonly interrupt: () => void;
  readonly onCleared: () => void;
  /** Called after every order. */
  readonly after: (index: SearchIndex) => Promise<void>;
}): IndexCommands {
  const { indexOf, clock, progress, interrupt, onCleared, after } = parts;
  return {
    async build(current) {
      const index = await indexOf(current);
      await startJob(index, { kind: 'build', paths: [], depth: indexScope(current).maxDepth });
      await after(index);
    },
    async update(current, paths, depth) {
      const index = await indexOf(current);
      const mode = current.settings.text('search_index');
      if (!PARTIAL_MODES.includes(mode)) throw new AppError('FAILED_PRECONDITION', 'update is not supported for current index');
      const wanted = [...new Set(paths.map(parseVirtualPath))];
      await startJob(index, { kind: 'update', paths: wanted, depth: depth ?? indexScope(current).maxDepth });
      await after(index);
    },
    async stopJob(current) {
      const index = await indexOf(current);
      await stopJob(index, clock());
      interrupt();
      await after(index);
    },
    async clear(current) {
      const index = await indexOf(current);
      await clearIndex(index);
      onCleared();
      await after(index);
    },
    progress: async (current) => progress.of(await indexOf(current)),
  };
}
