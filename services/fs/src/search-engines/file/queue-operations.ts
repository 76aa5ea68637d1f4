import type { VirtualPath } from '@wharf/paths';
import { PathTree } from '../../domain/access/path-tree.ts';
import { FIRST_STATE, type IndexedFolder, type IndexState, type Territory } from '../../domain/search/search-index.ts';
import { type IndexTables, STEP_ENTRIES, type Steps } from './index-tables.ts';
import { numberAt, pathAt, textAt } from './row.ts';
import type { Statements } from './statements.ts';

/** The operations on the folders that are still to be indexed, and on the state of the job that does it. */
export function createQueueOperations(sql: Statements, { addFolder, foldersBelow }: Pick<IndexTables, 'addFolder' | 'foldersBelow'>) {
  const settle = (path: VirtualPath) => sql.run('UPDATE folders SET queued = NULL WHERE path = ?', path);
  return {
    openFolder(path: VirtualPath, depth: number, generation: number): void {
      addFolder(path, depth, generation);
      sql.run('UPDATE folders SET depth = ?, queued = ? WHERE path = ?', depth, depth === 0 ? null : generation, path);
    },

    *requeue(path: VirtualPath, generation: number, isDeep: boolean): Steps<void> {
      const set = 'UPDATE folders SET queued = ? WHERE depth <> 0 AND';
      sql.run(`${set} path = ?`, generation, path);
      if (!isDeep) return;
      for (const folders of foldersBelow(path)) {
        for (const { id } of folders) sql.run(`${set} id = ?`, generation, id);
        yield;
      }
    },
    *queued(generation: number, limit: number, except: readonly Territory[]): Steps<readonly IndexedFolder[]> {
      const isOwned = territoryOf(except);
      const found: IndexedFolder[] = [];
      for (let last = 0; ; ) {
        const rows = sql.all(
          'SELECT id, path, depth FROM folders WHERE queued = ? AND id > ? ORDER BY id LIMIT ?',
          generation,
          last,
          STEP_ENTRIES,
        );
        const folders = rows.map((row) => ({ path: pathAt(row, 1), depth: numberAt(row, 2) }));
        found.push(...folders.filter(({ path }) => !isOwned(path)).slice(0, limit - found.length));
        if (found.length === limit || rows.length < STEP_ENTRIES) return found;
        last = numberAt(rows.at(-1) ?? [], 0);
        yield;
      }
    },
    settle(paths: readonly VirtualPath[]): void {
      for (const path of paths) settle(path);
    },

    *settleAll(territory: Territory): Steps<void> {
      const isOwned = territoryOf([territory]);
      settle(territory.place);
      for (const folders of foldersBelow(territory.place)) {
        for (const { path } of folders) if (isOwned(path)) settle(path);
        yield;
      }
    },

    readState(): IndexState {
      return readState(sql);
    },

    replaceState(next: IndexState): boolean {
      if (readState(sql).revision !== next.revision) return false;
      const body = JSON.stringify({ ...next, revision: next.revision + 1 });
      sql.run('INSERT OR REPLACE INTO state (id, revision, body) VALUES (1, ?, ?)', next.revision + 1, body);
      return true;
    },
  };
}

function readState(sql: Statements): IndexState {
  const row = sql.first('SELECT body FROM state WHERE id = 1');
  // Written by replaceState only; JSON leaves out what is undefined.
  return row ? { ...FIRST_STATE, ...(JSON.parse(textAt(row, 0)) as IndexState) } : FIRST_STATE;
}

/** Whether a path belongs to one of some storages, by the nearest of the places at or above it: SQL would compare each path with each place. */
function territoryOf(territories: readonly Territory[]): (path: VirtualPath) => boolean {
  const places = new PathTree<boolean>();
  for (const { without } of territories) for (const place of without) places.set(place, false);
  for (const { place } of territories) places.set(place, true);
  return (path) => places.nearest(path) === true;
}
