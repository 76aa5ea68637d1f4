import { makeTempDir, type TempDir, waitFor } from '@wharf/harness';
import { WHOLE } from '@wharf/pace';
import { createChanges } from '../../src/domain/changing/changes.ts';
import type { Operation } from '../../src/domain/changing/operations/operation.ts';
import { createFolderCache, type FolderCache } from '../../src/domain/reading/folder-cache.ts';
import { listEntries } from '../../src/domain/reading/list-entries.ts';
import { createIndexKeeper, type IndexKeeper } from '../../src/domain/search/index-keeper.ts';
import type { IndexProgress } from '../../src/domain/search/index-progress.ts';
import { searchEntries } from '../../src/domain/search/search-entries.ts';
import type { SearchIndex } from '../../src/domain/search/search-index.ts';
import { actor, type MemoryTree, openTree, vpath } from '../../src/domain/testing/memory-tree.ts';
import { openFileSearchIndex } from '../../src/search-engines/file/file-search-index.ts';

/** Somebody who sees everything. */
const ROOT = actor({ role: 2 });

/** A tree in memory and a keeper of its index, in a file that outlives the keeper. */
export interface KeeperWorld {
  readonly keeper: IndexKeeper;
  readonly reports: IndexProgress[];
  readonly errors: unknown[];
  /** The tree as it is now, or as it is to be from now on. */
  memory: MemoryTree;
  operation(): Operation;
  list(path: string): Promise<void>;
  build(): Promise<void>;
  /** Waits until no job is under way. */
  done(): Promise<IndexProgress>;
  /** Paths of the entries that a search finds, sorted. */
  found(keywords?: string): Promise<string[]>;
  /** Waits until a search finds exactly these. */
  finds(keywords: string, paths: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface KeeperWorldOptions {
  readonly tree?: Parameters<typeof openTree>[0];
  /** Of an earlier world, to go on with. */
  readonly dir?: TempDir;
  /** The index with something else in its place. */
  readonly around?: (index: SearchIndex) => SearchIndex;
  readonly memory?: MemoryTree;
  readonly owner?: string;
  readonly clock?: () => number;
  readonly maxEntries?: number;
  readonly standsAfterMs?: number;
  readonly lateMs?: number;
}

const ON = { search_index: 'database' };

export const treeWith = (options: Parameters<typeof openTree>[0] = {}) =>
  openTree({ ...options, settings: { ...ON, ...options.settings } });

export async function openKeeperWorld(options: KeeperWorldOptions = {}): Promise<KeeperWorld & { readonly dir: TempDir }> {
  const dir = options.dir ?? (await makeTempDir('keeper'));
  const memory = options.memory ?? (await treeWith(options.tree));
  const around = options.around ?? ((index) => index);
  const reports: IndexProgress[] = [];
  const errors: unknown[] = [];
  const keeper: IndexKeeper = createIndexKeeper({
    snapshot: async () => world.memory.snapshot,
    folderCache: (): FolderCache => folderCache,
    openIndex: async () => around(await openFileSearchIndex(dir.path)),
    owner: options.owner ?? 'this one',
    clock: options.clock ?? Date.now,
    report: async (progress) => void reports.push(progress),
    onError: (error) => errors.push(error),
    maxEntries: options.maxEntries,
    standsAfterMs: options.standsAfterMs,
    lateMs: options.lateMs,
  });
  const folderCache = createFolderCache(Date.now, keeper.noteListing);
  const world: KeeperWorld & { dir: TempDir } = {
    dir,
    keeper,
    reports,
    errors,
    memory,
    operation: () => ({
      ...world.memory.operation(ROOT),
      changes: createChanges(
        folderCache,
        () => {},
        () => [],
        keeper,
      ),
    }),
    async list(path) {
      await listEntries(world.memory.snapshot, folderCache, ROOT, vpath(path), { slice: WHOLE, refresh: true });
    },
    async build() {
      await keeper.build(world.memory.snapshot);
      await world.done();
    },
    done: () =>
      waitFor('the end of the job', async () => {
        const { isRunning, ...progress } = await keeper.progress(world.memory.snapshot);
        return isRunning ? undefined : progress;
      }),
    async found(keywords = '') {
      const { snapshot } = world.memory;
      const request = { parent: '/', keywords, scope: 0, page: 1, perPage: 10_000, password: '' };
      const { hits } = await searchEntries(snapshot, await keeper.index(snapshot), ROOT, request, new AbortController().signal);
      return hits.map(({ parent, name }) => (parent === '/' ? `/${name}` : `${parent}/${name}`)).sort();
    },
    async finds(keywords, paths) {
      const wanted = JSON.stringify([...paths].sort());
      let last = '';
      await waitFor(`${keywords}: ${wanted}`, async () => {
        last = JSON.stringify(await world.found(keywords));
        return last === wanted;
      }).catch((error: unknown) => {
        throw new Error(`found ${last}`, { cause: error });
      });
    },
    async close() {
      await keeper.close();
      if (!options.dir) await dir.remove();
    },
  };
  return world;
}
